/**
 * Merging partial attention over disjoint sets of tokens (devices, prefixes) by their log-sum-exp.
 */
import { LowbitKvError } from '../errors.js';
import { checkTensor, elementCount, f32Tensor, type HostTensor } from '../tensor.js';

/** f32 output `[queries, queryHeads, valueHeadDim]` and natural log-sum-exp `[queries, queryHeads]`. */
export interface PartialAttention {
  readonly output: HostTensor;
  readonly logSumExp: HostTensor;
}

/** Exact merge: the result of one attention over the union of the tokens. Throws TENSOR_INVALID. */
export function mergeAttention(parts: readonly PartialAttention[]): PartialAttention {
  const first = parts[0];
  const refuse = (message: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('TENSOR_INVALID', {
      message,
      value,
      valid,
      next: 'Ask attend for `logSumExp` and pass its f32 results.',
    });
  };
  if (first === undefined) return refuse('nothing to merge', parts.length, 'at least one part');
  for (const { output, logSumExp } of parts) {
    for (const tensor of [output, logSumExp]) {
      if (!isF32(tensor))
        refuse('parts must be f32 host tensors', tensor, 'what `read()` of an attention gives');
    }
    const shapes = [output.shape, logSumExp.shape];
    if (JSON.stringify(shapes) !== JSON.stringify([first.output.shape, first.logSumExp.shape])) {
      refuse(
        'parts differ in shape',
        shapes,
        JSON.stringify([first.output.shape, first.logSumExp.shape]),
      );
    }
  }
  const { shape } = first.output;
  if (shape.length !== 3)
    refuse('wrong rank of an output', shape, '[queries, queryHeads, valueHeadDim]');
  for (const { output, logSumExp } of parts) {
    checkTensor('output', output, shape);
    checkTensor('logSumExp', logSumExp, shape.slice(0, 2));
  }
  const rows = elementCount(first.logSumExp.shape);
  const dim = shape[2] as number;
  const output = new Float32Array(first.output.data.length);
  const logSumExp = new Float32Array(rows).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < rows; row++) {
    const maximum = Math.max(...parts.map((part) => part.logSumExp.data[row] as number));
    if (maximum === Number.NEGATIVE_INFINITY) continue;
    const weights = parts.map((part) => Math.exp((part.logSumExp.data[row] as number) - maximum));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    logSumExp[row] = maximum + Math.log(total);
    for (let c = row * dim; c < (row + 1) * dim; c++) {
      let value = 0;
      for (const [i, part] of parts.entries())
        value += (weights[i] as number) * (part.output.data[c] as number);
      output[c] = value / total;
    }
  }
  return {
    output: f32Tensor(output, first.output.shape),
    logSumExp: f32Tensor(logSumExp, first.logSumExp.shape),
  };
}

function isF32(tensor: HostTensor | undefined): boolean {
  return tensor?.type === 'f32' && tensor.data instanceof Float32Array;
}
