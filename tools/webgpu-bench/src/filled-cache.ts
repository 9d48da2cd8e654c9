/**
 * A cache as a server leaves it after a while: ragged sequences whose pages lie at shuffled places, packed by `append` from
 * device buffers.
 */
import { gpuTensor, type WebGpuBackend } from '@lowbit-kv/backend-webgpu';
import {
  type Cache,
  createCache,
  LowbitKvError,
  type Plan,
  type Sequence,
  type Step,
} from '@lowbit-kv/core';
import { drawnKeys, drawnValues } from './drawn-data.js';
import { HEAD_DIM, KV_HEADS } from './plans.js';
import { createRandom, type Random, shuffled } from './random.js';

/** Rows of one step. */
const STEP_ROWS = 16384;
/** Rows that are drawn, and what steps take theirs from: the drawn ones, repeated. */
const DRAWN_ROWS = 4608;
const SOURCE_ROWS = 4 * DRAWN_ROWS;
const ROW_ELEMENTS = KV_HEADS * HEAD_DIM;
/** Sequences that may be alive beside the filled ones while pages are shuffled; only tails need room for that. */
const MORE_SEQUENCES = { tails: 64, plain: 1024 } as const;
const SHUFFLES = 12;

export interface FilledCache {
  readonly cache: Cache;
  readonly sequences: readonly Sequence[];
  readonly lengths: readonly number[];
}

/** Drawn keys and values in device buffers, f16 `[rows, heads, headDim]`. */
export class DataSource {
  readonly #key: GPUBuffer;
  readonly #value: GPUBuffer;

  constructor(device: GPUDevice) {
    const shape = [DRAWN_ROWS, KV_HEADS, HEAD_DIM];
    const upload = (data: Uint16Array<ArrayBuffer>) => {
      const size = SOURCE_ROWS * ROW_ELEMENTS * 2;
      const buffer = device.createBuffer({ size, usage: 0x88 }); // STORAGE | COPY_DST
      for (let byte = 0; byte < size; byte += data.byteLength)
        device.queue.writeBuffer(buffer, byte, data);
      return buffer;
    };
    this.#key = upload(drawnKeys(shape, 11, 'f16') as Uint16Array<ArrayBuffer>);
    this.#value = upload(drawnValues(shape, 12, 'f16') as Uint16Array<ArrayBuffer>);
  }

  /** `rows` consecutive rows from a random place on. */
  rows(rows: number, random: Random) {
    const tensor = (buffer: GPUBuffer) =>
      gpuTensor(buffer, {
        type: 'f16',
        shape: [rows, KV_HEADS, HEAD_DIM],
        offset: random(SOURCE_ROWS - rows + 1) * ROW_ELEMENTS,
      });
    return { key: tensor(this.#key), value: tensor(this.#value) };
  }

  dispose(): void {
    this.#key.destroy();
    this.#value.destroy();
  }
}

/** Sequence `i` is a little shorter than `tokens`, and ends inside a page. */
export function raggedLengths(tokens: number, batch: number): number[] {
  return Array.from({ length: batch }, (_, i) => {
    const shorter = Math.min(29 + 62 * i, Math.floor(tokens / 4) + i);
    return Math.max(1, tokens - shorter);
  });
}

export async function fillCache(
  plan: Plan,
  backend: WebGpuBackend,
  source: DataSource,
  lengths: readonly number[],
): Promise<FilledCache> {
  const random = createRandom(lengths.length);
  const more = plan.classes.some(({ flush }) => flush > 0) ? MORE_SEQUENCES.tails : 0;
  const cache = await createCache(plan, backend, {
    capacity: {
      // One more for the step that is timed.
      tokens: lengths.reduce((sum, length) => sum + length + 1, 0),
      sequences: lengths.length + more,
    },
    nonFinite: 'mask',
  });
  try {
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    shufflePages(cache, tokens / (more || MORE_SEQUENCES.plain), random);
    const sequences = lengths.map(() => cache.createSequence());
    const most = Math.floor(STEP_ROWS / lengths.length);
    for (;;) {
      const entries = sequences.map((sequence, i) => ({
        sequence,
        tokens: Math.min(most, (lengths[i] as number) - sequence.length),
      }));
      const rows = entries.reduce((sum, { tokens }) => sum + tokens, 0);
      if (rows === 0) break;
      await cache.append(
        shuffled(entries, random),
        // No plan here has overrides of heads, so that units are layers.
        plan.layers.map(() => source.rows(rows, random)),
      );
    }
    await backend.device.queue.onSubmittedWorkDone();
    return { cache, sequences, lengths };
  } catch (error) {
    cache.dispose();
    throw error;
  }
}

interface OpenStep {
  readonly sequence: Sequence;
  readonly step: Step;
}

/** Free pages change places: steps over many sequences are planned, which takes pages, and given up in another order. */
function shufflePages(cache: Cache, mean: number, random: Random): void {
  for (let round = 0; round < SHUFFLES; round++) {
    const steps: OpenStep[] = [];
    for (;;) {
      const open = tryStep(cache, 1 + random(Math.ceil(2 * mean)));
      if (open === null) break;
      steps.push(open);
    }
    for (const { sequence, step } of shuffled(steps, random)) {
      step.abandon();
      cache.disposeSequence(sequence);
    }
  }
}

/** A step of a new sequence; null when the pages do not suffice. */
function tryStep(cache: Cache, tokens: number): OpenStep | null {
  const sequence = cache.createSequence();
  try {
    return { sequence, step: cache.step([{ sequence, tokens }]) };
  } catch (error) {
    cache.disposeSequence(sequence);
    if (LowbitKvError.is(error, 'OUT_OF_PAGES')) return null;
    throw error;
  }
}
