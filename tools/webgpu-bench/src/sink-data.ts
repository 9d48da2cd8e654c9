/**
 * Data as sinks leave it: the first two tokens take most of the attention of every query, and their values are small.
 */
import { f16ToF32, f32ToF16 } from '@lowbit-kv/core';
import { HEAD_DIM, KV_HEADS } from './plans.js';

const SINKS = 2;
const VALUE_FACTOR = 0.1;

/** Changes keys and values of the first tokens in place. f16 `[tokens, kvHeads, headDim]`. */
export function dominateBySinks(
  drawn: { readonly key: Uint16Array; readonly value: Uint16Array; readonly query: Float32Array },
  queryHeads: number,
): void {
  const groupHeads = queryHeads / KV_HEADS;
  for (let token = 0; token < SINKS; token++) {
    for (let head = 0; head < KV_HEADS; head++) {
      for (let channel = 0; channel < HEAD_DIM; channel++) {
        // The sum of the queries that meet this head: each has a logit of about sqrt(headDim).
        let sum = 0;
        for (let row = head * groupHeads; row < (head + 1) * groupHeads; row++)
          sum += drawn.query[row * HEAD_DIM + channel] as number;
        const at = (token * KV_HEADS + head) * HEAD_DIM + channel;
        drawn.key[at] = f32ToF16(sum);
        drawn.value[at] = f32ToF16(f16ToF32(drawn.value[at] as number) * VALUE_FACTOR);
      }
    }
  }
}
