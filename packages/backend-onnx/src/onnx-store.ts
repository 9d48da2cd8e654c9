/**
 * Executes jobs: host pages hold the bytes, graphs compute them. Jobs run one after another in the order of the calls.
 */
import {
  type AppendJob,
  type AttendJob,
  type AttendSequence,
  type AttentionResult,
  type BlockStore,
  type DeviceTensor,
  decodeF16,
  encodeTokens,
  f32Tensor,
  HostPages,
  type HostTensor,
  type LayerPlan,
  LowbitKvError,
  type PackWork,
  type PageRequest,
  type Plan,
  refuseTarget,
  requireHostTensor,
  type StoreOptions,
  type Tensor,
  type TensorPlan,
  type TensorWork,
} from '@lowbit-kv/core';
import { cacheFeeds, queryFeeds, statisticsFeed } from './attention-feeds.js';
import type { Feed, GraphSession } from './graph-session.js';
import { JobQueue } from './job-queue.js';
import { hasBands, isPacked, thresholdsOf } from './packed-plan.js';
import { writeEncoded } from './page-writer.js';
import type { LayerSessions, SessionSet } from './session-set.js';

/** Logits of one run: many queries over a long cache are split. */
const LOGIT_BUDGET = 1 << 21;

interface Layer {
  readonly plan: LayerPlan;
  readonly key: HostPages;
  readonly value: HostPages;
  readonly sessions: LayerSessions;
}

export class OnnxStore implements BlockStore {
  readonly #layers: Layer[];
  readonly #sessions: SessionSet;
  readonly #queue = new JobQueue();
  #disposed = false;

  constructor(plan: Plan, options: StoreOptions, sessions: SessionSet) {
    this.#sessions = sessions;
    this.#layers = plan.layers.map((layer, index) => {
      const pages = (tensor: TensorPlan) =>
        new HostPages(
          tensor,
          options.pages[tensor.class] ?? { packed: 0, window: 0, statistics: 0 },
        );
      return {
        plan: layer,
        key: pages(layer.key),
        value: pages(layer.value),
        sessions: sessions.layer(index),
      };
    });
  }

  get allocatedBytes(): number {
    return this.#layers.reduce(
      (sum, layer) => sum + layer.key.allocatedBytes + layer.value.allocatedBytes,
      0,
    );
  }

  append(job: AppendJob): void {
    const layer = this.#layer(job.layer);
    const input = { key: hostBits(job.key), value: hostBits(job.value) };
    this.#enqueue(job.step, async () => {
      for (const tensor of ['key', 'value'] as const)
        await appendTensor(layer, tensor, job.work[tensor], input[tensor]);
    });
  }

  attend(job: AttendJob): AttentionResult {
    refuseTarget(job.into);
    const layer = this.#layer(job.layer);
    const { queryHeads, valueHeadDim } = layer.plan.geometry;
    const query = f32Rows(requireHostTensor(job.query));
    const total = job.query.shape[0] as number;
    const output = f32Tensor(new Float32Array(total * queryHeads * valueHeadDim), [
      total,
      queryHeads,
      valueHeadDim,
    ]);
    const logSumExp = f32Tensor(new Float32Array(total * queryHeads), [total, queryHeads]);
    const input = job.input && { key: hostBits(job.input.key), value: hostBits(job.input.value) };
    const done = this.#enqueue(job.step, async () => {
      for (const sequence of job.sequences) {
        if (sequence.queries > 0)
          await attendSequence(layer, sequence, input, query, output, logSumExp);
      }
    });
    const wanted = job.logSumExp ? logSumExp : undefined;
    // Not host tensors: their data are there only once the job has run.
    const pending = (tensor: HostTensor): DeviceTensor => ({
      type: tensor.type,
      shape: tensor.shape,
      device: 'onnx',
      handle: async () => {
        await done;
        return tensor;
      },
    });
    return {
      output: pending(output),
      logSumExp: wanted && pending(wanted),
      async read() {
        await done;
        return { output, logSumExp: wanted };
      },
    };
  }

  settle(step: number): Promise<void> {
    return this.#queue.settle(step);
  }

  forget(step: number): void {
    this.#queue.forget(step);
  }

  readPages(request: PageRequest): Promise<Uint8Array> {
    const pages = this.#layer(request.layer)[request.tensor];
    return this.#queue.enqueue(null, async () => pages.read(request.kind, request.pages));
  }

  writePages(request: PageRequest, bytes: Uint8Array): Promise<void> {
    const pages = this.#layer(request.layer)[request.tensor];
    return this.#queue.enqueue(null, async () =>
      pages.writePages(request.kind, request.pages, bytes),
    );
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#layers.length = 0;
    // A session in use must finish first.
    this.#enqueue(null, () => this.#sessions.release());
  }

  /** A fault is reported by settle and by whoever reads the result, so it may go unread here. */
  #enqueue(step: number | null, job: () => Promise<void>): Promise<void> {
    const done = this.#queue.enqueue(step, job);
    done.catch(() => undefined);
    return done;
  }

  #layer(layer: number): Layer {
    const found = this.#layers[layer];
    if (found === undefined) {
      throw new LowbitKvError('CACHE_DISPOSED', {
        message: this.#disposed ? 'the store was disposed' : 'no such layer',
        value: layer,
        valid: this.#disposed ? 'nothing' : `0 to ${this.#layers.length - 1}`,
        next: 'Create a new cache.',
      });
    }
    return found;
  }
}

async function appendTensor(
  layer: Layer,
  tensor: 'key' | 'value',
  work: TensorWork,
  input: Uint16Array,
): Promise<void> {
  const pages = layer[tensor];
  pages.copy(work.copies);
  const measure = layer.sessions.statistics[tensor];
  for (const { page, sources } of work.statistics) {
    if (measure === null) throw new TypeError('only measured transforms have statistics work');
    const result = await measure.run({ tokens: tokenFeed(pages, pages.gather(sources, input)) });
    pages.statisticsPage(page).set(result.f16('statistics'));
  }
  pages.write(work.writes, input);
  const encode = layer.sessions.encode[tensor];
  for (const pack of work.packs) await packBlock(pages, encode, pack, input);
}

async function packBlock(
  pages: HostPages,
  encode: GraphSession | null,
  pack: PackWork,
  input: Uint16Array,
): Promise<void> {
  const { plan } = pages;
  if (!isPacked(plan)) throw new TypeError('only packed tensors have pack work');
  const tokens = pages.gather(pack.sources, input);
  const page = pages.packedPage(pack.page);
  if (encode === null) {
    const statistics = pack.statistics < 0 ? null : pages.statisticsPage(pack.statistics);
    encodeTokens(plan, tokens, pack.count, statistics, page, pack.slot);
    return;
  }
  const feeds: Record<string, Feed> = { tokens: tokenFeed(pages, tokens) };
  if (hasBands(plan)) feeds.thresholds = { type: 'float32', data: thresholdsOf(plan), dims: [4] };
  if (pack.statistics >= 0) feeds.statistics = statisticsFeed(pages, pack.statistics);
  const result = await encode.run(feeds);
  writeEncoded(plan, result, page, pack.slot, pack.count);
}

function tokenFeed({ plan }: HostPages, tokens: Uint16Array): Feed {
  const { heads, headDim } = plan;
  return {
    type: 'float16',
    data: tokens,
    dims: [tokens.length / (heads * headDim), heads, headDim],
  };
}

async function attendSequence(
  layer: Layer,
  sequence: AttendSequence,
  input: { readonly key: Uint16Array; readonly value: Uint16Array } | undefined,
  query: Float32Array,
  output: HostTensor,
  logSumExp: HostTensor,
): Promise<void> {
  const { queryHeads, keyHeadDim, valueHeadDim } = layer.plan.geometry;
  const shared = cacheFeeds(
    { pages: layer.key, view: sequence.key, input: input?.key ?? null },
    { pages: layer.value, view: sequence.value, input: input?.value ?? null },
  );
  const columns = Math.max(1, (shared.positions as Feed).data.length);
  const block = Math.max(1, Math.floor(LOGIT_BUDGET / (columns * queryHeads)));
  for (let first = 0; first < sequence.queries; first += block) {
    const count = Math.min(block, sequence.queries - first);
    const row = (sequence.firstQuery + first) * queryHeads;
    const rows = query.subarray(row * keyHeadDim, (row + count * queryHeads) * keyHeadDim);
    const result = await layer.sessions.attention.run({
      ...shared,
      ...queryFeeds(layer.plan, sequence, first, count, rows),
    });
    output.data.set(result.f32('output'), row * valueHeadDim);
    logSumExp.data.set(result.f32('log_sum_exp'), row);
  }
}

/** A copy: jobs run later, and the caller may reuse its array. */
function f32Rows(tensor: HostTensor): Float32Array {
  if (tensor.type === 'f32') return (tensor.data as Float32Array).slice();
  const bits = tensor.data as Uint16Array;
  if (tensor.type === 'f16') return decodeF16(bits);
  return new Float32Array(Uint32Array.from(bits, (b) => b << 16).buffer);
}

/** The f16 bits of keys or values: core rounds them into an array of its own before a job is made. */
function hostBits(tensor: Tensor): Uint16Array {
  const host = requireHostTensor(tensor);
  if (host.type === 'f16') return host.data as Uint16Array;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: 'keys and values of a job are f16',
    value: host.type,
    valid: ['f16'],
    next: 'Append through the cache, which rounds once.',
  });
}
