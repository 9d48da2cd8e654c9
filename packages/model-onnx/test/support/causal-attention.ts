/**
 * Plain causal attention in float64 over the tokens of one forward, starting at position 0.
 */
import type { Attend, Decoder } from '../../src/decoder/decoder.js';

export function causalAttend({ layers }: Pick<Decoder, 'layers'>): Attend {
  return async (layer, { query, key, value }) => {
    const geometry = layers[layer]?.geometry;
    if (geometry === undefined) throw new RangeError(`no layer ${layer}`);
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap, slidingWindow } =
      geometry;
    const tokens = key.length / (kvHeads * keyHeadDim);
    const output = new Float32Array(tokens * queryHeads * valueHeadDim);
    for (let t = 0; t < tokens; t++) {
      for (let head = 0; head < queryHeads; head++) {
        const kvHead = Math.floor((head * kvHeads) / queryHeads);
        const logits: number[] = [];
        const seen: number[] = [];
        for (let j = 0; j <= t; j++) {
          if (slidingWindow !== null && j <= t - slidingWindow.size && j >= slidingWindow.sinks)
            continue;
          let dot = 0;
          for (let c = 0; c < keyHeadDim; c++)
            dot +=
              (query[(t * queryHeads + head) * keyHeadDim + c] as number) *
              (key[(j * kvHeads + kvHead) * keyHeadDim + c] as number);
          const scaled = dot * scale;
          logits.push(softCap === null ? scaled : softCap * Math.tanh(scaled / softCap));
          seen.push(j);
        }
        const most = Math.max(...logits);
        const weights = logits.map((x) => Math.exp(x - most));
        const sum = weights.reduce((a, b) => a + b, 0);
        for (let c = 0; c < valueHeadDim; c++) {
          let total = 0;
          for (const [i, j] of seen.entries())
            total +=
              (weights[i] as number) * (value[(j * kvHeads + kvHead) * valueHeadDim + c] as number);
          output[(t * queryHeads + head) * valueHeadDim + c] = total / sum;
        }
      }
    }
    return output;
  };
}
