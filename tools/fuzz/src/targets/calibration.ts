/** Calibration files, and plans with what they hold. */
import { canonicalJson, createPlan, type Geometry } from '@lowbit-kv/core';
import { inlineCalibration } from '@lowbit-kv/core/testing';
import { readCalibrations } from '../../../../packages/cli/src/calibration-file.js';
import { builtinSchemes } from '../../../../packages/cli/src/schemes/builtin-schemes.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const GEOMETRY: Geometry = {
  ...{ layers: 2, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 },
  rotary: { pairs: 'halves' },
};

export const calibration: Target = {
  name: 'calibration',
  codes: ['CALIBRATION_INVALID', 'CALIBRATION_MISSING'],
  async open() {
    const scratch = new Scratch('calibration');
    const schemes = (await builtinSchemes())
      .map(({ scheme }) => scheme)
      .filter(({ calibration: need }) => need.kind === 'offline');
    const seeds = schemes.map((scheme) => inlineCalibration(scheme, GEOMETRY));
    return {
      mutant(random) {
        const seed = random.pick(seeds);
        return mutateJson(random, random.chance(0.2) ? [seed, random.pick(seeds)] : seed);
      },
      async check(mutant) {
        const found = await readCalibrations(scratch.write('calibration.json', mutant), schemes);
        const said = parsedJson(mutant)?.value;
        const texts = (Array.isArray(said) ? said : [said]).map(canonicalJson);
        for (const scheme of schemes) {
          const measured = found[scheme.id];
          if (measured === undefined) continue;
          mustHold(texts.includes(canonicalJson(measured)), 'another calibration than was given');
          createPlan(scheme, GEOMETRY, { calibration: measured });
        }
      },
      close: async () => scratch.remove(),
    };
  },
};
