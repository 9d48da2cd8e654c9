/**
 * Memory calls of the fake driver.
 */
import type { CudaFunctions } from '../../../src/driver/functions.js';
import { RESULT } from '../../../src/driver/results.js';
import type { FakeContext, FakeState } from './state.js';
import { FakeViolation } from './violation.js';

type Calls = Pick<
  CudaFunctions,
  Extract<keyof CudaFunctions, `cuMem${string}` | `cuPointer${string}`>
>;

const DEFAULT_MEMORY = 2 ** 30;
const POINTER_CONTEXT = 1;

export function memoryCalls(
  state: FakeState,
  inContext: (work: (context: FakeContext) => number) => number,
): Calls {
  const { memory, streams } = state;
  const total = ({ device }: FakeContext) => state.devices[device]!.memoryBytes ?? DEFAULT_MEMORY;
  const used = ({ device }: FakeContext) =>
    memory
      .live('device')
      .filter((block) => block.device === device)
      .reduce((sum, { size }) => sum + size, 0);

  const allocate = (
    context: FakeContext,
    kind: 'device' | 'pinned',
    out: unknown,
    bytes: number,
  ): number => {
    if (bytes === 0) return RESULT.INVALID_VALUE;
    if (kind === 'device' && used(context) + bytes > total(context)) return RESULT.OUT_OF_MEMORY;
    (out as BigUint64Array)[0] = memory.allocate(
      kind,
      bytes,
      context.handle,
      context.device,
    ).address;
    return RESULT.SUCCESS;
  };
  const free = (context: FakeContext, kind: 'device' | 'pinned', address: bigint): number => {
    const block = memory.blockOf(address);
    const known = block?.kind === kind && block.address === address && !block.freed;
    if (!known || block.device !== context.device) return RESULT.INVALID_VALUE;
    memory.free(block);
    return RESULT.SUCCESS;
  };
  const isDevice = (address: bigint, bytes: number) =>
    memory.find(address, bytes, ['device']) !== undefined;
  /** Pinned memory is read and written when the copy runs, a view of JavaScript at the call. */
  const pinned = (host: Uint8Array | bigint, bytes: number): bigint | undefined => {
    if (typeof host !== 'bigint') {
      if (host.byteLength < bytes) throw new FakeViolation('a copy goes beyond its host array');
      return undefined;
    }
    if (memory.find(host, bytes, ['pinned']) === undefined)
      throw new FakeViolation('a copy names host memory that is not pinned');
    return host;
  };
  /** Enqueues `work` in a stream of the current context. */
  const enqueue = (stream: bigint, pointers: [bigint, number][], work: () => void) =>
    inContext((context) => {
      const target = state.stream(stream, context);
      if (target === undefined) return RESULT.INVALID_HANDLE;
      if (!pointers.every(([pointer, bytes]) => isDevice(pointer, bytes)))
        return RESULT.INVALID_VALUE;
      return streams.enqueue(target, work);
    });

  return {
    cuMemAlloc_v2: (out, bytes) => inContext((context) => allocate(context, 'device', out, bytes)),
    cuMemAllocAsync: (out, bytes, stream) =>
      inContext((context) =>
        state.stream(stream, context) === undefined
          ? RESULT.INVALID_HANDLE
          : allocate(context, 'device', out, bytes),
      ),
    cuMemAllocHost_v2: (out, bytes) =>
      inContext((context) => allocate(context, 'pinned', out, bytes)),
    cuMemFree_v2: (pointer) =>
      inContext((context) => state.drain(context) || free(context, 'device', pointer)),
    cuMemFreeHost: (address) => inContext((context) => free(context, 'pinned', address)),
    cuMemFreeAsync: (pointer, stream) =>
      enqueue(stream, [[pointer, 1]], () => {
        const context = state.contextOf(memory.blockOf(pointer)!.context)!;
        if (free(context, 'device', pointer) !== RESULT.SUCCESS)
          throw new FakeViolation('memory of a pool is freed twice');
      }),
    cuMemcpyHtoD_v2: (target, source, bytes) =>
      inContext(() => {
        if (!isDevice(target, bytes)) return RESULT.INVALID_VALUE;
        const address = pinned(source, bytes);
        const from =
          address === undefined ? (source as Uint8Array) : state.required(address, bytes, 'a copy');
        state.required(target, bytes, 'a copy').set(from.subarray(0, bytes));
        return RESULT.SUCCESS;
      }),
    cuMemcpyDtoH_v2: (target, source, bytes) =>
      inContext(() => {
        if (!isDevice(source, bytes)) return RESULT.INVALID_VALUE;
        const address = pinned(target, bytes);
        const to =
          address === undefined ? (target as Uint8Array) : state.required(address, bytes, 'a copy');
        to.set(state.required(source, bytes, 'a copy'));
        return RESULT.SUCCESS;
      }),
    cuMemcpyHtoDAsync_v2: (target, source, bytes, stream) => {
      const address = pinned(source, bytes);
      const now = address === undefined ? (source as Uint8Array).slice(0, bytes) : undefined;
      return enqueue(stream, [[target, bytes]], () =>
        state
          .required(target, bytes, 'a copy')
          .set(now ?? state.required(address!, bytes, 'a copy')),
      );
    },
    cuMemcpyDtoHAsync_v2: (target, source, bytes, stream) => {
      const address = pinned(target, bytes);
      if (address === undefined)
        throw new FakeViolation('a copy in stream order writes to memory that JavaScript may move');
      return enqueue(stream, [[source, bytes]], () =>
        state.required(address, bytes, 'a copy').set(state.required(source, bytes, 'a copy')),
      );
    },
    cuMemcpyDtoDAsync_v2: (target, source, bytes, stream) =>
      enqueue(
        stream,
        [
          [target, bytes],
          [source, bytes],
        ],
        () => state.required(target, bytes, 'a copy').set(state.required(source, bytes, 'a copy')),
      ),
    cuMemsetD8Async: (target, value, count, stream) =>
      enqueue(stream, [[target, count]], () => {
        state.required(target, count, 'a fill').fill(value);
      }),
    cuMemsetD32Async: (target, value, count, stream) => {
      if (target % 4n !== 0n) return RESULT.INVALID_VALUE;
      return enqueue(stream, [[target, 4 * count]], () => {
        const bytes = state.required(target, 4 * count, 'a fill');
        new Uint32Array(bytes.buffer, bytes.byteOffset, count).fill(value);
      });
    },
    cuMemGetInfo_v2: (freeBytes, totalBytes) =>
      inContext((context) => {
        (freeBytes as BigUint64Array)[0] = BigInt(total(context) - used(context));
        (totalBytes as BigUint64Array)[0] = BigInt(total(context));
        return RESULT.SUCCESS;
      }),
    cuPointerGetAttribute: (out, attribute, pointer) => {
      const block = memory.blockOf(pointer);
      if (!isDevice(pointer, 1) || attribute !== POINTER_CONTEXT) return RESULT.INVALID_VALUE;
      (out as BigUint64Array)[0] = block!.context;
      return RESULT.SUCCESS;
    },
  };
}
