/** `lowbit-kv inspect` of damaged files of every kind that it explains. */
import { readFileSync } from 'node:fs';
import { schemeDataOf } from '@lowbit-kv/core';
import { presets } from '@lowbit-kv/scheme-kivi';
import { snapshotPlan } from '../../../../packages/core/scripts/golden-snapshot.js';
import { captureBytes } from '../../../../packages/harness/test/support/capture-bytes.js';
import { mutateJson } from '../mutate/json.js';
import { mutateSafetensors } from '../mutate/safetensors.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';
import { exampleReports } from './report.js';
import { Scratch } from './scratch.js';
import { mutateSnapshot } from './snapshot.js';
import { runCommand } from './terminal.js';

const SNAPSHOT = new URL('../../../../packages/core/test/golden/snapshot.bin', import.meta.url);

export const inspect: Target = {
  name: 'inspect',
  codes: [
    ...(['OPTION_INVALID', 'SNAPSHOT_INVALID', 'SAFETENSORS_INVALID', 'SCHEME_INVALID'] as const),
    ...(['CALIBRATION_INVALID', 'SPEC_VERSION_UNSUPPORTED', 'BLOCK_INVALID'] as const),
  ],
  async open() {
    const scratch = new Scratch('inspect');
    const golden = new Uint8Array(readFileSync(SNAPSHOT));
    const { layers, scheme, calibration, ...plan } = snapshotPlan();
    const documents = [
      ...(await exampleReports()),
      ...presets.map(schemeDataOf),
      { schemeFile: 1, scheme: presets[0], provenance: {} },
      calibration,
      { ...plan, scheme, layers: layers.map(({ layer }) => layer) },
    ];
    const capture = captureBytes();
    return {
      mutant(random: Random) {
        const kind = random.below(3);
        if (kind === 0) return mutateSnapshot(random, golden);
        if (kind === 1) return mutateSafetensors(random, capture);
        return mutateJson(random, random.pick(documents));
      },
      async check(mutant) {
        scratch.write('file', mutant);
        const shown = await runCommand(['inspect', 'file'], scratch.folder);
        const { code, stdout } = await runCommand(['inspect', 'file', '--json'], scratch.folder);
        mustHold(code === 0 && shown.code === 0, `exit codes ${shown.code} and ${code}`);
        mustHold(typeof JSON.parse(stdout) === 'object', 'JSON that is no object');
        scratch.mustBeInside();
      },
      close: async () => scratch.remove(),
    };
  },
};
