/** config.json of a model, as `estimate` and as model-onnx read it. */
import { resolveGeometry } from '@lowbit-kv/core';
import { openModelFiles } from '@lowbit-kv/model-onnx';
import { readConfigGeometry } from '../../../../packages/cli/src/estimate/config-geometry.js';
import * as configs from '../../../../packages/cli/test/support/configs.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const { LLAMA_3_1_8B } = configs;
const SEEDS = [
  ...Object.values(configs),
  { ...LLAMA_3_1_8B, layer_types: Array(32).fill('full_attention'), rope_theta: 500_000 },
  { model_type: 'gemma3', eos_token_id: [1, 106], text_config: configs.GEMMA_2_9B },
];

export const config: Target = {
  name: 'config.json',
  codes: ['MODEL_INVALID', 'MODEL_UNSUPPORTED', 'GEOMETRY_INVALID'],
  async open() {
    const scratch = new Scratch('config');
    scratch.write('model.onnx', '');
    return {
      mutant: (random) => mutateJson(random, random.pick(SEEDS)),
      async check(mutant) {
        const path = scratch.write('config.json', mutant);
        const files = await openModelFiles(scratch.folder);
        const { geometry } = await readConfigGeometry(path);
        const layers = resolveGeometry(geometry);
        const said = parsedJson(mutant)?.value as Record<string, unknown>;
        const text = said.text_config;
        const fields: Record<string, unknown> = { ...said, ...(typeof text === 'object' && text) };
        mustHold(layers.length === fields.num_hidden_layers, 'number of layers');
        mustHold(files.config.num_hidden_layers === layers.length, 'layers of two readers');
        const heads = fields.num_attention_heads;
        mustHold(
          layers.every(({ queryHeads }) => queryHeads === heads),
          'query heads',
        );
        const sliding = layers.filter(({ slidingWindow }) => slidingWindow !== null).length;
        mustHold(sliding === slidingIn(fields), `${sliding} layers slide`);
      },
      close: async () => scratch.remove(),
    };
  },
};

/** Layers with a window, counted another way; types that are not known must be refused before. */
function slidingIn(fields: Record<string, unknown>): number {
  const { sliding_window: window, layer_types: types, num_hidden_layers: layers } = fields;
  if (Array.isArray(types)) return types.filter((type) => type === 'sliding_attention').length;
  if (typeof window !== 'number' || fields.use_sliding_window === false) return 0;
  const { max_window_layers: first, sliding_window_pattern: pattern } = fields;
  if (fields.use_sliding_window === true && typeof first === 'number')
    return Math.max(0, Number(layers) - first);
  const known = new Map([
    ...(['mistral', 'mixtral', 'phi3', 'starcoder2'] as const).map((type) => [type, 0] as const),
    ...([
      ['gemma2', 2],
      ['gemma3_text', 6],
      ['cohere2', 4],
    ] as const),
  ] as [string, number][]).get(String(fields.model_type));
  const every = typeof pattern === 'number' ? pattern : known;
  mustHold(every !== undefined, `the model type ${JSON.stringify(fields.model_type)} is not known`);
  return Number(layers) - (every === 0 ? 0 : Math.floor(Number(layers) / every));
}
