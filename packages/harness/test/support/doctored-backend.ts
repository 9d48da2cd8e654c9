/** The reference backend with a fault injected into its store, for quantizing plans or for all. */
import {
  type AppendJob,
  type AttendJob,
  type AttentionResult,
  type Backend,
  type BlockStore,
  f16Tensor,
  f32Tensor,
  type HostTensor,
  type Plan,
  referenceBackend,
  type Span,
  type Tensor,
} from '@lowbit-kv/core';

export interface Fault {
  /** Also when nothing is quantized, so that f16 itself breaks. */
  readonly everywhere?: boolean;
  readonly append?: (job: AppendJob, plan: Plan) => AppendJob;
  readonly attend?: (job: AttendJob, plan: Plan) => AttendJob;
  readonly result?: (result: AttentionResult) => AttentionResult;
  /** After a step: its packed pages, by layer and tensor. */
  readonly settled?: (
    store: BlockStore,
    plan: Plan,
    packed: readonly PackedPage[],
  ) => Promise<void>;
}

export interface PackedPage {
  readonly layer: number;
  readonly tensor: 'key' | 'value';
  readonly page: number;
}

export function doctoredBackend(fault: Fault): Backend {
  const honest = referenceBackend();
  return {
    ...honest,
    id: 'doctored',
    createStore: async (plan, options) => {
      const store = await honest.createStore(plan, options);
      const quantizes = plan.classes.some(({ flush }) => flush > 0);
      return quantizes || fault.everywhere === true ? doctor(store, plan, fault) : store;
    },
  };
}

function doctor(store: BlockStore, plan: Plan, fault: Fault): BlockStore {
  let packed: PackedPage[] = [];
  return {
    append(job) {
      for (const tensor of ['key', 'value'] as const) {
        for (const { page } of job.work[tensor].packs)
          packed.push({ layer: job.layer, tensor, page });
      }
      store.append(fault.append?.(job, plan) ?? job);
    },
    attend(job) {
      const result = store.attend(fault.attend?.(job, plan) ?? job);
      return fault.result?.(result) ?? result;
    },
    async settle(step) {
      await store.settle(step);
      await fault.settled?.(store, plan, packed);
      packed = [];
    },
    forget: (step) => store.forget(step),
    readPages: (request) => store.readPages(request),
    writePages: (request, bytes) => store.writePages(request, bytes),
    get allocatedBytes() {
      return store.allocatedBytes;
    },
    dispose: () => store.dispose(),
  };
}

export const ZERO_OUTPUT: Pick<Fault, 'result'> = {
  result: (result) => {
    const output = f32Tensor(
      new Float32Array((result.output as HostTensor).data.length),
      result.output.shape,
    );
    const zeroed = { output, logSumExp: result.logSumExp as HostTensor | undefined };
    return { ...zeroed, read: async () => zeroed };
  },
};

/** Channels 3 and 4 of a tensor change places before they are stored. */
export function swapChannels(tensor: 'key' | 'value'): Fault {
  return {
    append: (job) => ({ ...job, [tensor]: swapped(job[tensor]) }),
  };
}

function swapped(tensor: Tensor): Tensor {
  const { data, shape } = tensor as HostTensor;
  const headDim = shape[2] as number;
  const bits = (data as Uint16Array).slice();
  for (let at = 0; at < bits.length; at += headDim) {
    bits[at + 3] = data[at + 4] as number;
    bits[at + 4] = data[at + 3] as number;
  }
  return f16Tensor(bits, shape);
}

/** Attention does not see the newest `count` tokens. */
export function hideNewest(count: number): Fault {
  const cut = (spans: readonly Span[]) => {
    let left = count;
    return spans
      .toReversed()
      .map((span) => {
        const taken = Math.min(left, span.count);
        left -= taken;
        return { ...span, count: span.count - taken };
      })
      .filter((span) => span.count > 0)
      .toReversed();
  };
  return {
    attend: (job) => ({
      ...job,
      sequences: job.sequences.map((sequence) => ({
        ...sequence,
        key: { ...sequence.key, spans: cut(sequence.key.spans) },
        value: { ...sequence.value, spans: cut(sequence.value.spans) },
      })),
    }),
  };
}

/** The window begins a token too late: blocks packed from a prompt hold the tokens one place after their own. */
export function packOneLater(tensor: 'key' | 'value'): Fault {
  return {
    append: (job) => {
      const work = job.work[tensor];
      const packs = work.packs.map((pack) => ({
        ...pack,
        sources: pack.sources.map((span) =>
          span.source === 'input' ? { ...span, slot: span.slot + 1 } : span,
        ),
      }));
      return { ...job, work: { ...job.work, [tensor]: { ...work, packs } } };
    },
  };
}

/** Neighbouring groups of a packed page trade their scales. */
export function scaleOfNeighbour(tensor: 'key' | 'value'): Fault {
  return {
    settled: async (store, plan, packed) => {
      const pages = packed.filter((entry) => entry.tensor === tensor);
      const distinct = new Map(pages.map((entry) => [`${entry.layer} ${entry.page}`, entry]));
      for (const { layer, page } of distinct.values()) {
        const layout = plan.layers[layer]?.[tensor].layout;
        const plane = layout?.parameters.find(({ name }) => name === 'scale');
        if (layout == null || plane === undefined) throw new Error('no scales to trade');
        const request = { layer, tensor, kind: 'packed' as const, pages: [page] };
        const bytes = await store.readPages(request);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        for (let head = 0; head < layout.heads; head++) {
          for (let group = 0; group + 1 < plane.count; group += 2) {
            const at = head * layout.headBytes + plane.offset + 2 * group;
            const first = view.getUint16(at, true);
            view.setUint16(at, view.getUint16(at + 2, true), true);
            view.setUint16(at + 2, first, true);
          }
        }
        await store.writePages(request, bytes);
      }
    },
  };
}

/** Packed pages are forgotten: everything older than the window becomes zero. */
export const FORGET_PACKED: Fault = {
  settled: async (store, _plan, packed) => {
    for (const { layer, tensor, page } of packed) {
      const request = { layer, tensor, kind: 'packed' as const, pages: [page] };
      const bytes = await store.readPages(request);
      await store.writePages(request, bytes.fill(0));
    }
  },
};
