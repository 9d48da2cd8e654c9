/**
 * Causal attention over unrounded keys and values of a whole window: the model as it is, for captures and calibration.
 */
import { type Attend, type Decoder, layerGeometry } from '../decoder/decoder.js';
import type { AttentionSessions } from './attention-graph.js';
import { BLOCK_QUERIES, lastQuerySeeing } from './schedule.js';

/** For one forward of all tokens from position 0 on. */
export function plainAttend(
  { layers }: Pick<Decoder, 'layers'>,
  sessions: AttentionSessions,
): Attend {
  return async (layer, { query, key, value }) => {
    const geometry = layerGeometry({ layers }, layer);
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, slidingWindow } = geometry;
    const session = await sessions.of(geometry);
    const tokens = value.length / (kvHeads * valueHeadDim);
    const output = new Float32Array(tokens * queryHeads * valueHeadDim);
    for (let first = 0; first < tokens; first += BLOCK_QUERIES) {
      const end = Math.min(tokens, first + BLOCK_QUERIES);
      const columns = Int32Array.from({ length: end }, (_, position) => position);
      const part = await session.attend({
        query: query.subarray(first * queryHeads * keyHeadDim, end * queryHeads * keyHeadDim),
        positions: columns.subarray(first),
        key: key.subarray(0, end * kvHeads * keyHeadDim),
        value: value.subarray(0, end * kvHeads * valueHeadDim),
        from: columns,
        to: columns.map((position) => lastQuerySeeing(slidingWindow, position, end)),
      });
      output.set(part, first * queryHeads * valueHeadDim);
    }
    return output;
  };
}
