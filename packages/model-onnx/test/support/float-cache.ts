/**
 * Attention of a decoder in float64 over a cache of plain numbers: the figures to compare with.
 */
import type { Attend, Decoder, LayerTensors } from '../../src/decoder/decoder.js';

interface Held {
  readonly key: number[];
  readonly value: number[];
}

export class FloatCache {
  readonly #layers: readonly Decoder['layers'][number][];
  readonly #held: readonly Held[];

  constructor(decoder: Decoder) {
    this.#layers = decoder.layers;
    this.#held = decoder.layers.map(() => ({ key: [], value: [] }));
  }

  readonly attend: Attend = async (layer, tensors) => {
    const geometry = this.#layers[layer]?.geometry;
    const held = this.#held[layer];
    if (geometry === undefined || held === undefined) throw new Error(`no layer ${layer}`);
    for (const x of tensors.key) held.key.push(x);
    for (const x of tensors.value) held.value.push(x);
    return attention(geometry, tensors, held);
  };
}

function attention(
  geometry: Decoder['layers'][number]['geometry'],
  { query }: LayerTensors,
  { key, value }: Held,
): Float32Array {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap, slidingWindow } = geometry;
  const tokens = query.length / (queryHeads * keyHeadDim);
  const past = key.length / (kvHeads * keyHeadDim) - tokens;
  const out = new Float32Array(tokens * queryHeads * valueHeadDim);
  for (let token = 0; token < tokens; token++) {
    const newest = past + token;
    const oldest = slidingWindow === null ? 0 : Math.max(0, newest - slidingWindow.size + 1);
    for (let head = 0; head < queryHeads; head++) {
      const kvHead = Math.floor(head / (queryHeads / kvHeads));
      const q = (token * queryHeads + head) * keyHeadDim;
      const logits: number[] = [];
      for (let at = oldest; at <= newest; at++) {
        const k = (at * kvHeads + kvHead) * keyHeadDim;
        let dot = 0;
        for (let c = 0; c < keyHeadDim; c++) dot += (query[q + c] ?? 0) * (key[k + c] ?? 0);
        dot *= scale;
        logits.push(softCap === null ? dot : softCap * Math.tanh(dot / softCap));
      }
      const top = Math.max(...logits);
      const weights = logits.map((x) => Math.exp(x - top));
      const sum = weights.reduce((a, b) => a + b, 0);
      for (let c = 0; c < valueHeadDim; c++) {
        let x = 0;
        for (const [i, weight] of weights.entries())
          x += weight * (value[((oldest + i) * kvHeads + kvHead) * valueHeadDim + c] ?? 0);
        out[(token * queryHeads + head) * valueHeadDim + c] = x / sum;
      }
    }
  }
  return out;
}
