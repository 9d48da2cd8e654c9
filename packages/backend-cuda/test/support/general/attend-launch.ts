/**
 * General attention over a case, on the fake driver with the kernel's own text.
 */
import koffi from 'koffi';
import { AttentionScratch } from '../../../src/attend/attention-scratch.js';
import { StepTables } from '../../../src/attend/step-tables.js';
import { ITEM } from '../../../src/attend/structs.js';
import { DeviceMemory } from '../../../src/driver/device-memory.js';
import { UploadRing } from '../../../src/driver/upload-ring.js';
import { DeviceTensor } from '../../../src/general/device-tensor.js';
import { generalAttention } from '../../../src/general/general-attention.js';
import { TensorMemory } from '../../../src/memory/tensor-memory.js';
import type { CompiledKernels } from '../host/compile-kernels.js';
import { type Opened, withFake } from '../open-fake.js';
import { type AttendCase, type Attended, bytesOf, PAGES } from './attend-case.js';

/** What the kernel makes of a case. */
export interface Launched extends Attended {
  /** Whether counts of arrivals are zeros again. */
  readonly isSettled: boolean;
  /** Items of a query token. */
  readonly mostSplits: number;
}

export async function launch(host: CompiledKernels, attended: AttendCase): Promise<Launched> {
  const addressOf = (buffer: ArrayBuffer) => BigInt(koffi.address(buffer));
  let launched: Launched | undefined;
  await withFake({ kernels: host.kernels, addressOf }, (opened) => {
    launched = run(opened, attended);
  });
  return launched as Launched;
}

function run({ context, stream, module }: Opened, attended: AttendCase): Launched {
  const { plan, contents, sequences, query, slots } = attended;
  const { geometry } = plan;
  const upload = (bytes: Uint8Array) => {
    const memory = DeviceMemory.allocate(context, Math.max(1, bytes.length));
    memory.all.upload(bytes);
    return memory.all;
  };
  const memoryOf = (tensor: 'key' | 'value') => {
    const own = plan[tensor];
    const memory = TensorMemory.allocate(stream, own, PAGES, own.layout?.pageBytes ?? 0);
    // Pages are zeros only then.
    stream.synchronize();
    for (const kind of ['packed', 'window', 'statistics'] as const) {
      const size = memory.sizeOf(kind);
      const bytes = bytesOf(contents[tensor][kind]);
      for (let at = 0; at < bytes.length; at += size)
        memory.page(kind, at / size).upload(bytes.subarray(at, at + size));
    }
    return memory;
  };
  const memory = { key: memoryOf('key'), value: memoryOf('value') };
  const attention = generalAttention({
    module,
    plan,
    memory,
    key: new DeviceTensor(context, plan.key, { rotary: geometry.rotary }),
    value: new DeviceTensor(context, plan.value),
  });
  const rows = sequences.reduce((sum, { queries }) => sum + queries, 0);
  const capacity = 2 * slots + rows;
  const ring = new UploadRing(context);
  const tables = new StepTables(context, ring, {
    slots,
    capacity,
    slidingWindow: geometry.slidingWindow,
    pageTokens: {
      key: plan.key.layout?.blockTokens ?? 1,
      value: plan.value.layout?.blockTokens ?? 1,
    },
  });
  const scratch = AttentionScratch.allocate(stream, capacity, [geometry]);
  tables.update(stream, sequences);
  const results = rows * geometry.queryHeads;
  const output = upload(new Uint8Array(4 * results * geometry.valueHeadDim).fill(0x7e));
  const logSumExp = upload(new Uint8Array(4 * results).fill(0x7e));
  const buffers = {
    tables,
    scratch,
    queries: upload(bytesOf(query.data)),
    queryType: query.type,
    output,
    logSumExp,
    input: {
      key: upload(bytesOf(contents.key.input)),
      value: upload(bytesOf(contents.value.input)),
    },
  };
  // Blocks behind the last item find nothing to do.
  attention.run(stream, buffers, slots % 2 === 0 ? 'items' : 'capacity');
  stream.synchronize();
  const floats = (bytes: Uint8Array) => new Float32Array(bytes.slice().buffer);
  const items = new Uint32Array(tables.list.items.bytes.slice().buffer);
  const splits = items.filter((_, i) => (4 * i) % ITEM.bytes === ITEM.fields.splits);
  ring.dispose();
  return {
    output: floats(output.download()).subarray(0, results * geometry.valueHeadDim),
    logSumExp: floats(logSumExp.download()).subarray(0, results),
    isSettled: scratch.arrivals.all.download().every((byte) => byte === 0),
    mostSplits: Math.max(0, ...splits),
  };
}
