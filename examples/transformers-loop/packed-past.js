// `past_key_values` of a decoder, packed between its steps.
import {
  createCache,
  createPlan,
  f32Tensor,
  fromBatched,
  modelLayers,
  referenceBackend,
  toBatched,
} from '@lowbit-kv/core';
import * as ort from 'onnxruntime-node';

/** The past of one sequence: `feeds` before a step, `keep` after it. */
export class PackedPast {
  #cache;
  #sequence;
  #layers;

  /**
   * @param {import('@lowbit-kv/core').Scheme} scheme
   * @param {import('@lowbit-kv/core').Geometry} geometry of the model's config.json
   * @param {number} tokens longest sequence
   */
  static async create(scheme, geometry, tokens) {
    const plan = createPlan(scheme, geometry);
    return new PackedPast(await createCache(plan, referenceBackend(), { capacity: { tokens } }));
  }

  /** @param {import('@lowbit-kv/core').Cache} cache */
  constructor(cache) {
    this.#cache = cache;
    this.#sequence = cache.createSequence();
    this.#layers = modelLayers(cache.plan).length;
  }

  /** Tokens so far. */
  get length() {
    return this.#sequence.length;
  }

  /** Codes, parameters and f16 windows, without the slots of pages that are free still. */
  async bytes() {
    const { live, alignment } = (await this.#cache.stats()).bytes;
    return live - alignment;
  }

  /** `past_key_values.N.key` and `.value`, decoded: f32 `[1, kvHeads, past, headDim]`. */
  async feeds() {
    /** @type {Record<string, ort.Tensor>} */
    const feeds = {};
    for (let layer = 0; layer < this.#layers; layer++) {
      const { key, value } = await this.#cache.materialize(this.#sequence, layer);
      for (const [name, rows] of /** @type {const} */ ([
        ['key', key],
        ['value', value],
      ])) {
        const { data, shape } = toBatched(rows, 1);
        feeds[`past_key_values.${layer}.${name}`] = new ort.Tensor('float32', data, shape);
      }
    }
    return feeds;
  }

  /**
   * Takes the newest tokens of `present.N.key` and `.value`, f32 `[1, kvHeads, past + new, headDim]`.
   *
   * @param {Record<string, ort.Tensor>} outputs
   */
  async keep(outputs) {
    /** @param {string} name */
    const newest = (name) => {
      const { data, dims } = outputs[name];
      const rows = fromBatched(f32Tensor(/** @type {Float32Array} */ (data), dims));
      const [total, heads, dim] = rows.shape;
      const added = /** @type {Float32Array} */ (rows.data).subarray(this.length * heads * dim);
      return f32Tensor(added, [total - this.length, heads, dim]);
    };
    const layers = Array.from({ length: this.#layers }, (_, layer) => ({
      key: newest(`present.${layer}.key`),
      value: newest(`present.${layer}.value`),
    }));
    const tokens = layers[0].key.shape[0];
    await this.#cache.append([{ sequence: this.#sequence, tokens }], layers);
  }

  dispose() {
    this.#cache.dispose();
  }
}
