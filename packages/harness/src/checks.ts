/**
 * Self-checks: proof that what was measured is the cache, and that the backend reads it.
 */
import {
  type Cache,
  f32Tensor,
  LowbitKvError,
  referenceBackend,
  type Sequence,
} from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import type { LayerTensors } from './capture-layers.js';
import { type ExactAttention, exactAttention } from './exact-attention.js';
import type { HeldLayer } from './held-cache.js';
import { addSums, type ErrorSum, errorSum, nmseOf } from './metrics.js';
import { f32Of, queryRow, type Replay } from './replay.js';
import type { OutputError, ReportCheck } from './report.js';
import { THRESHOLDS } from './thresholds.js';

function checkOf(name: string, passed: boolean, detail: string): ReportCheck {
  return { name, result: passed ? 'passed' : 'failed', detail };
}

/** Every number finite, and no layer all zero. */
export function checkOutput(replay: Replay, numbers: readonly number[]): ReportCheck {
  const name = 'output-not-empty';
  for (const [i, { output, logSumExp }] of replay.layers.entries()) {
    if (!output.every(Number.isFinite) || !logSumExp.every(Number.isFinite))
      return checkOf(name, false, `layer ${numbers[i]} has an output that is not finite`);
    if (output.every((value) => value === 0))
      return checkOf(name, false, `the output of layer ${numbers[i]} is all zero`);
  }
  return checkOf(name, true, 'every layer gave finite outputs that are not all zero');
}

/** The cache of f16 must be exact: what remains is the rounding of the output. */
export function checkExact(f16: OutputError): ReportCheck {
  const worst = f16.worstHead.nmse;
  return checkOf(
    'f16-exact',
    worst !== null && worst <= THRESHOLDS.exactOutput,
    `f16 through the same cache: worst head ${worst?.toExponential(1) ?? 'not finite'}, at most ${THRESHOLDS.exactOutput} allowed`,
  );
}

/** The last query again, on the committed cache, against float64 attention over what the cache holds. */
export async function checkAgreement(
  data: CaptureData,
  cache: Cache,
  sequence: Sequence,
  held: readonly HeldLayer[],
): Promise<ReportCheck> {
  const sizes = { ...data.sizes, queries: 1, stride: 1 };
  const sums: ErrorSum[] = [];
  for (const [i, layer] of data.layers.entries()) {
    const query = lastQuery(data, layer);
    const output = await attendOnce(data, cache, sequence, i, query);
    const { key, value } = held[i] as HeldLayer;
    const exact = exactAttention({ key, value, query }, sizes);
    sums.push(errorSum(output, exact.output));
  }
  const worst = sums.map(nmseOf).reduce((a, b) => Math.max(a, b), 0);
  return checkOf(
    'attention-reads-cache',
    worst <= THRESHOLDS.cacheAgreement,
    `attention against float64 over the decoded cache: worst layer ${worst.toExponential(1)}, at most ${THRESHOLDS.cacheAgreement} allowed`,
  );
}

/**
 * The canary: queries of each layer on the cache of the next (of one layer: on the next kv head) must be far off, or a
 * comparison could not tell right data from wrong.
 */
export async function checkSwapped(
  data: CaptureData,
  cache: Cache,
  sequence: Sequence,
  exact: readonly ExactAttention[],
): Promise<ReportCheck> {
  const name = 'swapped-cache-differs';
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, queries } = data.sizes;
  const layers = data.layers.length;
  if (layers === 1 && kvHeads === 1) {
    return { name, result: 'skipped', detail: 'the capture has one layer and one kv head' };
  }
  const sums: ErrorSum[] = [];
  for (const [i, layer] of data.layers.entries()) {
    const query = lastQuery(data, layer);
    const group = queryHeads / kvHeads;
    const turned = layers > 1 ? query : rotate(query, group * keyHeadDim);
    const other = await attendOnce(data, cache, sequence, (i + 1) % layers, turned);
    const output = layers > 1 ? other : rotate(other, (queryHeads - group) * valueHeadDim);
    const width = queryHeads * valueHeadDim;
    const truth = (exact[i] as ExactAttention).output.subarray((queries - 1) * width);
    sums.push(errorSum(output, truth));
  }
  const nmse = nmseOf(addSums(sums));
  const what = layers > 1 ? "another layer's cache" : "another head's cache";
  return checkOf(
    name,
    nmse >= THRESHOLDS.swappedOutput,
    `attending with ${what}: NMSE ${nmse.toPrecision(3)}, at least ${THRESHOLDS.swappedOutput} expected`,
  );
}

/** Throws MEASUREMENT_INVALID for a failed check: nothing measured on this backend can be trusted. */
export function requirePassed(checks: readonly ReportCheck[], backend: string): void {
  const failed = checks.find(({ result }) => result === 'failed');
  if (failed === undefined) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message: `the self-check ${failed.name} failed: ${failed.detail}`,
    value: backend,
    valid: 'a backend whose f16 cache attends exactly, and a capture whose layers differ',
    next:
      backend === referenceBackend().id
        ? 'The capture is at fault: leave out layers that are all zero, or equal to others.'
        : 'Run the reference backend on the same capture to see which of the two is at fault.',
  });
}

function lastQuery(data: CaptureData, layer: LayerTensors): Float32Array {
  return queryRow(data, layer, data.sizes.queries - 1).data as Float32Array;
}

async function attendOnce(
  data: CaptureData,
  cache: Cache,
  sequence: Sequence,
  layer: number,
  query: Float32Array,
): Promise<Float32Array> {
  const { queryHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const tensor = f32Tensor(query, [1, queryHeads, keyHeadDim]);
  const { output } = await cache.attend(layer, tensor, [sequence]).read();
  return f32Of(output, queryHeads * valueHeadDim);
}

/** Element i moves to place i - count, around the end. */
function rotate(source: Float32Array, count: number): Float32Array {
  const result = new Float32Array(source.length);
  result.set(source.subarray(count));
  result.set(source.subarray(0, count), source.length - count);
  return result;
}
