/** The geometry of a model as JSON, planned. */
import { createPlan, type Geometry, modelLayers, resolveGeometry } from '@lowbit-kv/core';
import { presets } from '@lowbit-kv/scheme-kivi';
import { readGeometry } from '../../../../packages/cli/src/geometry-option.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const SHAPE = { layers: 2, queryHeads: 4, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 32 };
const SEEDS: readonly Geometry[] = [
  SHAPE,
  {
    ...SHAPE,
    scale: 0.125,
    softCap: 50,
    slidingWindow: { size: 64, sinks: 4 },
    rotary: { pairs: 'halves', base: 500_000, dimensions: 32 },
    layerOverrides: [
      { layers: [0, -1], slidingWindow: null, kvHeads: 4 },
      { layers: [1], rotary: { pairs: 'adjacent', frequencies: [1, 0.5, 0.25] } },
    ],
  },
];

export const geometry: Target = {
  name: 'geometry',
  codes: ['GEOMETRY_INVALID', 'SHAPE_UNSUPPORTED', 'PLAN_REFUSED'],
  async open() {
    const scratch = new Scratch('geometry');
    return {
      mutant: (random) => mutateJson(random, random.pick(SEEDS)),
      async check(mutant) {
        scratch.write('geometry.json', mutant);
        const given = await readGeometry('geometry.json', scratch.folder);
        const said = parsedJson(mutant)?.value as { layers: unknown };
        const layers = resolveGeometry(given);
        mustHold(layers.length === said.layers, 'number of layers');
        const [scheme] = presets;
        if (scheme === undefined) return;
        mustHold(modelLayers(createPlan(scheme, given)).length === layers.length, 'planned layers');
      },
      close: async () => scratch.remove(),
    };
  },
};
