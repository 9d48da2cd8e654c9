/**
 * Measures one operation of one scheme: microseconds of a layer, a number per sample.
 */
import { createCache, modelLayers, type Plan, type Scheme } from '@lowbit-kv/core';
import { createRandom } from '@lowbit-kv/core/testing';
import {
  appendBytes,
  attendBytes,
  benchPlan,
  type CalibrationOf,
  heldBytes,
  layersOf,
  packBytes,
} from './bench-plan.js';
import { type BenchCase, raggedLengths } from './cases.js';
import type { BenchDevice } from './device.js';
import { deviceRows } from './device-rows.js';
import { drawnRows } from './drawn-rows.js';
import { FILL_ROWS, fillCache } from './filled-cache.js';
import { pause } from './pause.js';
import type { BenchShape } from './report.js';

/** Layers hold so many times what the last-level cache does, or so many bytes where its size is not known. */
const CACHE_FACTOR = 4;
const ROTATED_BYTES = 256e6;
const MOST_LAYERS = 64;
/** What sequences hold before tokens are appended: more than windows and statistics of prompts take. */
const HELD_BEFORE_APPENDS = 512;
/** Prompts before those that count. */
const WARM_PROMPTS = 2;

export interface MeasureOptions {
  readonly samples: number;
  readonly warmUpMilliseconds: number;
  readonly allowEmulation: boolean;
  readonly calibrationOf: CalibrationOf;
  readonly signal: AbortSignal | undefined;
}

export interface Measured {
  readonly microseconds: readonly number[];
  readonly bytes: number;
  readonly layers: number;
  readonly rotatedBytes: number;
  readonly emulated: readonly string[];
}

type Measure = (
  device: BenchDevice,
  scheme: Scheme,
  shape: BenchShape,
  options: MeasureOptions,
) => Promise<Measured>;

/** Throws what plans, caches and backends throw, and the reason of the signal. */
export function measureCase(
  device: BenchDevice,
  scheme: Scheme,
  { operation, shape }: BenchCase,
  options: MeasureOptions,
): Promise<Measured> {
  return { pack, append, attend }[operation](device, scheme, shape, options);
}

const pack: Measure = async (device, scheme, shape, options) => {
  const { samples, signal, allowEmulation } = options;
  const { batch, tokens } = shape;
  const plan = await benchPlan(scheme, shape, 1, options.calibrationOf);
  const layers = layersOf(plan);
  const rows = batch * tokens;
  const source = deviceRows(device, shape, rows);
  const random = createRandom(3);
  const microseconds: number[] = [];
  const cache = await createCache(plan, device.backend, {
    capacity: { sequences: batch, tokens: rows },
    nonFinite: 'mask',
    allowEmulation,
  }).catch((error) => {
    source.dispose();
    throw error;
  });
  try {
    for (let prompt = 0; prompt < WARM_PROMPTS + samples; prompt++) {
      await pause(signal);
      const sequences = Array.from({ length: batch }, () => cache.createSequence());
      const step = cache.step(sequences.map((sequence) => ({ sequence, tokens })));
      const inputs = modelLayers(plan).map(() => source.rows(rows, random));
      const time = await device.once(
        () => {
          for (const [layer, { key, value }] of inputs.entries()) step.append(layer, key, value);
        },
        () => step.commit(),
      );
      if (prompt >= WARM_PROMPTS) microseconds.push(time / layers);
      for (const sequence of sequences) cache.disposeSequence(sequence);
    }
  } finally {
    cache.dispose();
    source.dispose();
  }
  const bytes = batch * packBytes(plan, tokens);
  return { microseconds, bytes, layers, rotatedBytes: bytes, emulated: emulatedBy(device, plan) };
};

/** A sample is the mean over as many steps as come between two flushes, so that each has its part of the packing. */
const append: Measure = async (device, scheme, shape, options) => {
  const { samples, signal, allowEmulation } = options;
  const { batch, tokens } = shape;
  const plan = await benchPlan(scheme, shape, device.stepLayers, options.calibrationOf);
  const layers = layersOf(plan);
  const period = Math.ceil(Math.max(1, ...plan.classes.map(({ flush }) => flush)) / tokens);
  const source = deviceRows(device, shape, Math.max(FILL_ROWS, batch * tokens));
  const random = createRandom(5);
  const microseconds: number[] = [];
  try {
    const more = (samples + 1) * period * tokens;
    const held = raggedLengths(HELD_BEFORE_APPENDS, batch, HELD_BEFORE_APPENDS / 2);
    const fill = { more, allowEmulation, signal };
    const { cache, sequences } = await fillCache(plan, device.backend, source, held, fill);
    try {
      // The first one is for warming up.
      for (let sample = -1; sample < samples; sample++) {
        let sum = 0;
        for (let count = 0; count < period; count++) {
          await pause(signal);
          const step = cache.step(sequences.map((sequence) => ({ sequence, tokens })));
          const inputs = modelLayers(plan).map(() => source.rows(batch * tokens, random));
          sum += await device.once(
            () => {
              for (const [layer, { key, value }] of inputs.entries())
                step.append(layer, key, value);
            },
            () => step.commit(),
          );
        }
        if (sample >= 0) microseconds.push(sum / period / layers);
      }
    } finally {
      cache.dispose();
    }
  } finally {
    source.dispose();
  }
  const bytes = appendBytes(plan, shape);
  const rotatedBytes = layers * bytes;
  return { microseconds, bytes, layers, rotatedBytes, emulated: emulatedBy(device, plan) };
};

const attend: Measure = async (device, scheme, shape, options) => {
  const { samples, warmUpMilliseconds, signal, allowEmulation } = options;
  const { batch, context, tokens, queryHeads, headDim } = shape;
  const lengths = raggedLengths(context as number, batch, tokens);
  const held = heldBytes(await benchPlan(scheme, shape, 1, options.calibrationOf), lengths);
  const cold =
    device.lastLevelCacheBytes === null ? ROTATED_BYTES : CACHE_FACTOR * device.lastLevelCacheBytes;
  const wanted = Math.min(MOST_LAYERS, Math.max(1, Math.ceil(cold / held)));
  const plan = await benchPlan(scheme, shape, wanted, options.calibrationOf);
  const layers = layersOf(plan);
  const memories: { dispose(): void }[] = [];
  const kept = <Memory extends { dispose(): void } | null>(memory: Memory): Memory => {
    if (memory !== null) memories.push(memory);
    return memory;
  };
  try {
    const source = kept(deviceRows(device, shape, FILL_ROWS));
    const fill = { more: 0, allowEmulation, signal };
    const { cache, sequences } = await fillCache(plan, device.backend, source, lengths, fill);
    kept(cache);
    const rows = batch * tokens;
    const size = [rows, queryHeads, headDim];
    const queries = kept(device.upload(drawnRows({ rows, heads: queryHeads, headDim, seed: 21 })));
    const output = kept(device.allocate(rows * queryHeads * headDim));
    const query = queries.tensor(size);
    const attendOptions = {
      queries: sequences.map(() => tokens),
      ...(output !== null && { into: { output: output.tensor(size) } }),
    };
    const microseconds = await device.repeat(
      (layer) => cache.attend(layer, query, sequences, attendOptions),
      { layers, samples, warmUpMilliseconds, signal },
    );
    return {
      microseconds,
      bytes: attendBytes(plan, lengths, shape),
      layers,
      rotatedBytes: Math.round(layers * heldBytes(plan, lengths)),
      emulated: emulatedBy(device, plan),
    };
  } finally {
    for (const memory of memories.reverse()) memory.dispose();
  }
};

function emulatedBy({ backend }: BenchDevice, plan: Plan): readonly string[] {
  const support = backend.supports(plan);
  return support.kind === 'emulated' ? support.reasons : [];
}
