/** Files of schemes: bare data, and what `tune` writes. */
import {
  canonicalJson,
  createPlan,
  type Geometry,
  schemeDataOf,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { inlineCalibration } from '@lowbit-kv/core/testing';
import { builtinSchemes } from '../../../../packages/cli/src/schemes/builtin-schemes.js';
import { readSchemeFile } from '../../../../packages/cli/src/schemes/scheme-file.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const GEOMETRY: Geometry = {
  ...{ layers: 2, queryHeads: 4, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 },
  rotary: { pairs: 'halves' },
};

export const scheme: Target = {
  name: 'scheme',
  codes: [
    ...(['SCHEME_INVALID', 'SPEC_VERSION_UNSUPPORTED', 'SCHEME_NOT_FOUND'] as const),
    ...(['CALIBRATION_INVALID', 'CALIBRATION_MISSING', 'SHAPE_UNSUPPORTED'] as const),
    ...(['PLAN_REFUSED', 'CODEC_MISSING', 'GEOMETRY_INVALID'] as const),
  ],
  async open() {
    const scratch = new Scratch('scheme');
    const seeds = (await builtinSchemes()).flatMap(({ scheme: preset }) => {
      const data = schemeDataOf(preset);
      const measured = inlineCalibration(preset, GEOMETRY);
      const file = { schemeFile: 1, scheme: data, calibration: measured, provenance: { by: 'me' } };
      return [data, JSON.parse(JSON.stringify(file))];
    });
    return {
      mutant: (random) => mutateJson(random, random.pick(seeds)),
      async check(mutant) {
        const found = await readSchemeFile(scratch.write('scheme.json', mutant));
        const said = parsedJson(mutant)?.value as { scheme?: unknown; schemeFile?: unknown };
        const data = 'schemeFile' in said ? said.scheme : said;
        mustHold(canonicalJson(schemeDataOf(found.scheme)) === canonicalJson(data), 'other data');
        const measured = found.calibration ?? inlineCalibration(found.scheme, GEOMETRY);
        const plan = createPlan(
          found.scheme,
          GEOMETRY,
          measured === undefined ? {} : { calibration: measured },
        );
        mustHold(schemeFingerprint(plan.scheme) === schemeFingerprint(found.scheme), 'fingerprint');
      },
      close: async () => scratch.remove(),
    };
  },
};
