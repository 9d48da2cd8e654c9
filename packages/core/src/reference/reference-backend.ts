/**
 * The reference backend: the law executed in plain TypeScript on pages in host memory.
 */
import type {
  AppendJob,
  AttendJob,
  AttentionResult,
  Backend,
  BackendSupport,
  BlockStore,
  PageRequest,
  StoreOptions,
  TensorView,
} from '../backend.js';
import { LowbitKvError } from '../errors.js';
import { decodeF16 } from '../float16.js';
import type { RotaryEmbedding } from '../geometry.js';
import { attendHead } from '../law/attention.js';
import { encodeTokens, type PackedTensorPlan } from '../law/encode.js';
import { RotaryRotation } from '../law/rotary.js';
import { measureStatistics } from '../law/statistics.js';
import { unexecutedFeatures } from '../law/support.js';
import { Transforms } from '../law/transforms.js';
import type { LayerPlan, Plan, TensorPlan } from '../plan/plan.js';
import { f32Tensor, refuseTarget, requireHostTensor, type Tensor, toF32 } from '../tensor.js';
import { HostPages } from './host-pages.js';
import { TileDecoder } from './tile-decoder.js';

/** The backend that needs nothing but JavaScript. Slow, exact, and what every other backend is compared with. */
export function referenceBackend(): Backend {
  return {
    specVersion: 1,
    id: 'reference',
    probe: async () => ({ ok: true, device: 'TypeScript, float64 attention' }),
    supports: (plan) => supportOf(plan),
    createStore: async (plan, options) => new ReferenceStore(plan, options),
  };
}

function supportOf(plan: Plan): BackendSupport {
  const reasons = unexecutedFeatures(plan);
  return reasons.length === 0 ? { kind: 'native' } : { kind: 'refused', reasons };
}

interface LayerPages {
  readonly plan: LayerPlan;
  readonly key: HostPages;
  readonly value: HostPages;
  readonly keyTiles: TileDecoder;
  readonly valueTiles: TileDecoder;
  readonly rotary: RotaryRotation | null;
}

class ReferenceStore implements BlockStore {
  readonly #layers: LayerPages[];
  #disposed = false;

  constructor(plan: Plan, options: StoreOptions) {
    const rotations = new Map<string, RotaryRotation>();
    this.#layers = plan.layers.map((layer) => {
      const pages = (tensor: TensorPlan) =>
        new HostPages(
          tensor,
          options.pages[tensor.class] ?? { packed: 0, window: 0, statistics: 0 },
        );
      const key = pages(layer.key);
      const value = pages(layer.value);
      return {
        plan: layer,
        key,
        value,
        keyTiles: new TileDecoder(key),
        valueTiles: new TileDecoder(value),
        rotary: rotationOf(layer.geometry.rotary, rotations),
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
    for (const tensor of ['key', 'value'] as const) {
      const pages = layer[tensor];
      const tiles = tensor === 'key' ? layer.keyTiles : layer.valueTiles;
      const work = job.work[tensor];
      const input = hostBits(job[tensor]);
      pages.copy(work.copies);
      for (const { kind, to } of work.copies) tiles.invalidate(kind, to, 0);
      for (const { page, sources } of work.statistics) {
        const tokens = pages.gather(sources, input);
        pages.statisticsPage(page).set(measureStatistics(pages.plan, tokens));
      }
      for (const { page, slot } of work.writes) tiles.invalidate('window', page, slot);
      pages.write(work.writes, input);
      for (const pack of work.packs) {
        const tokens = pages.gather(pack.sources, input);
        tiles.invalidate('packed', pack.page, pack.slot);
        encodeTokens(
          pages.plan as PackedTensorPlan,
          tokens,
          pack.count,
          statisticsOf(pages, pack.statistics),
          pages.packedPage(pack.page),
          pack.slot,
        );
      }
    }
  }

  attend(job: AttendJob): AttentionResult {
    refuseTarget(job.into);
    const layer = this.#layer(job.layer);
    const { geometry } = layer.plan;
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const group = queryHeads / kvHeads;
    const query = requireHostTensor(job.query);
    const total = query.shape[0] as number;
    const values = toF32(query, decodeF16);
    const output = new Float32Array(total * queryHeads * valueHeadDim);
    const logSumExp = job.logSumExp ? new Float32Array(total * queryHeads) : null;
    const keyInput = job.input === undefined ? null : hostBits(job.input.key);
    const valueInput = job.input === undefined ? null : hostBits(job.input.value);
    for (const sequence of job.sequences) {
      const keyTransforms = transformsOf(layer.key, sequence.key);
      const valueTransforms = transformsOf(layer.value, sequence.value);
      for (let head = 0; head < kvHeads; head++) {
        const row = (q: number, g: number) =>
          (sequence.firstQuery + q) * queryHeads + head * group + g;
        attendHead({
          geometry,
          length: sequence.length,
          queries: sequence.queries,
          key: layer.keyTiles.tiles(sequence.key.spans, head, keyInput),
          value: layer.valueTiles.tiles(sequence.value.spans, head, valueInput),
          query: values,
          queryOffset: (q, g) => row(q, g) * keyHeadDim,
          kvHead: head,
          rotary: layer.rotary,
          keyTransforms,
          valueTransforms,
          output,
          outputOffset: (q, g) => row(q, g) * valueHeadDim,
          logSumExp,
          logSumExpOffset: row,
        });
      }
    }
    const result = {
      output: f32Tensor(output, [total, queryHeads, valueHeadDim]),
      logSumExp: logSumExp === null ? undefined : f32Tensor(logSumExp, [total, queryHeads]),
    };
    return { ...result, read: async () => result };
  }

  // Jobs run as they are enqueued, and their faults are thrown there.
  settle = async (): Promise<void> => undefined;
  forget = (): void => undefined;

  async readPages(request: PageRequest): Promise<Uint8Array> {
    return this.#layer(request.layer)[request.tensor].read(request.kind, request.pages);
  }

  async writePages(request: PageRequest, bytes: Uint8Array): Promise<void> {
    const layer = this.#layer(request.layer);
    layer[request.tensor].writePages(request.kind, request.pages, bytes);
    const tiles = request.tensor === 'key' ? layer.keyTiles : layer.valueTiles;
    if (request.kind === 'statistics') return;
    for (const page of request.pages) tiles.invalidate(request.kind, page, 0);
  }

  dispose(): void {
    this.#disposed = true;
    this.#layers.length = 0;
  }

  #layer(layer: number): LayerPages {
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

/** Layers with equal embeddings share their angles. */
function rotationOf(
  embedding: RotaryEmbedding | null,
  known: Map<string, RotaryRotation>,
): RotaryRotation | null {
  if (embedding === null) return null;
  const name = JSON.stringify(embedding);
  const rotation = known.get(name) ?? new RotaryRotation(embedding);
  known.set(name, rotation);
  return rotation;
}

function statisticsOf(pages: HostPages, page: number): Uint16Array | null {
  return page < 0 ? null : pages.statisticsPage(page);
}

/** Null when nothing that is seen is packed (statistics may not exist yet), or the tensor has no transforms. */
function transformsOf(pages: HostPages, { spans, statistics }: TensorView): Transforms | null {
  if (!spans.some((span) => span.source === 'packed')) return null;
  return Transforms.of(pages.plan, statisticsOf(pages, statistics));
}

function hostBits(tensor: Tensor): Uint16Array {
  return requireHostTensor(tensor).data as Uint16Array;
}
