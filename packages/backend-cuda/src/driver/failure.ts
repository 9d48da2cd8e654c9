/**
 * LowbitKvErrors from failed driver calls.
 */
import { type ErrorCode, LowbitKvError } from '@lowbit-kv/core';
import type { CudaDriver, CudaFunctionName } from './functions.js';
import { codeOf, RESULT } from './results.js';

/** The `cause` of errors that a driver call returned. */
export class CudaCallError extends Error {
  override readonly name = 'CudaCallError';
  readonly call: CudaFunctionName;
  /** CUresult. */
  readonly result: number;

  constructor(call: CudaFunctionName, result: number, text: string) {
    super(`${call} returned ${text}`);
    this.call = call;
    this.result = result;
  }
}

export interface FailureWords {
  /** What was attempted. */
  readonly message?: string;
  readonly value?: unknown;
  readonly valid?: string | readonly unknown[];
  readonly next?: string;
  readonly where?: Readonly<Record<string, unknown>>;
}

const NEXT: Partial<Record<ErrorCode, string>> = {
  DEVICE_LOST:
    'Everything in this CUDA context is gone: end the process and start again. compute-sanitizer names the kernel at fault.',
  DEVICE_OUT_OF_MEMORY:
    'Dispose caches, ask for a smaller capacity, or free memory that other processes hold on this card (nvidia-smi lists them).',
  BACKEND_UNAVAILABLE: 'Run `lowbit-kv doctor`; `nvidia-smi` must list the card.',
  KERNEL_IMAGE_INVALID: 'Install the newest NVIDIA driver, or install this package again.',
};

/** What a failed call means: code, the driver's own words, and what to do. */
export function callFailure(
  driver: CudaDriver,
  call: CudaFunctionName,
  result: number,
  words: FailureWords = {},
): LowbitKvError {
  const { name, description } = describeResult(driver, result);
  const code = codeOf(result);
  return new LowbitKvError(code, {
    message: `${words.message ?? `the driver call ${call} failed`}: ${description}`,
    value: words.value ?? `${name} (${result})`,
    valid: words.valid ?? 'CUDA_SUCCESS (0)',
    next: words.next ?? NEXT[code] ?? 'This is a fault of the calling code: report it.',
    where: { call, ...words.where },
    cause: new CudaCallError(call, result, `${name} (${result})`),
  });
}

/** Throws unless the call succeeded. For calls outside a context; inside, use `Context.check`. */
export function checkCall(
  driver: CudaDriver,
  call: CudaFunctionName,
  result: number,
  words?: FailureWords,
): void {
  if (result !== RESULT.SUCCESS) throw callFailure(driver, call, result, words);
}

/** Name and text of a result in the driver's words. A driver older than the result knows neither. */
export function describeResult(
  driver: CudaDriver,
  result: number,
): { readonly name: string; readonly description: string } {
  const text = (call: 'cuGetErrorName' | 'cuGetErrorString') => {
    const pointer = new BigUint64Array(1);
    return driver[call](result, pointer) === RESULT.SUCCESS && pointer[0] !== 0n
      ? driver.textAt(pointer[0]!)
      : undefined;
  };
  return {
    name: text('cuGetErrorName') ?? `CUresult ${result}`,
    description: text('cuGetErrorString') ?? 'a failure that this driver has no words for',
  };
}
