/**
 * What the f16 benchmark attends over: pages of numbers that repeat every 64 pages, in random order, and float64 attention
 * over them.
 */
import { createPlan, type LayerPlan, type Span } from '@lowbit-kv/core';
import { inlineScheme } from '@lowbit-kv/core/testing';
import { tensorNumbers } from '../src/shaders/tensor-numbers.js';
import { TensorMemory } from '../src/store/tensor-memory.js';

export const KV_HEADS = 8;
export const QUERY_HEADS = 32;
export const DIM = 128;
const PAGE_TOKENS = 32;
const CHUNK_PAGES = 64;

export const [layer] = createPlan(inlineScheme({ key: { bits: 16 }, value: { bits: 16 } }), {
  layers: 1,
  queryHeads: QUERY_HEADS,
  kvHeads: KV_HEADS,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
}).layers as [LayerPlan];

const pageBytes = layer.key.windowPageBytes;
const pageHalves = pageBytes / 2;
const chunks = { key: drawnChunk(1), value: drawnChunk(2) };

/** Signs and mantissas at random, magnitudes from 1/16 to 2. */
function drawnChunk(seed: number): Uint16Array<ArrayBuffer> {
  let state = seed;
  return new Uint16Array(CHUNK_PAGES * pageHalves).map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return ((state >>> 16) & 0x83ff) | ((11 + ((state >>> 8) % 5)) << 10);
  });
}

/** Spans of sequences of so many tokens, and how many pages they need. */
export function spansOf(
  device: GPUDevice,
  lengths: readonly number[],
): { readonly spans: readonly (readonly Span[])[]; readonly pages: number } {
  const perSequence = lengths.map((length) => Math.ceil(length / PAGE_TOKENS));
  const needed = perSequence.reduce((sum, pages) => sum + pages, 0);
  // A binding may be 4 bytes short of what the last page needs; some pages serve twice then.
  const most = Math.floor(device.limits.maxStorageBufferBindingSize / pageBytes) - 1;
  const pages = Math.min(needed, most);
  const order = shuffled(needed);
  let taken = 0;
  const spans = lengths.map((length, i) =>
    Array.from({ length: perSequence[i] as number }, (_, p): Span => {
      const position = p * PAGE_TOKENS;
      const page = (order[taken++] as number) % pages;
      const count = Math.min(PAGE_TOKENS, length - position);
      return { source: 'window', page, slot: 0, count, position };
    }),
  );
  return { spans, pages };
}

export function filledMemory(
  device: GPUDevice,
  tensor: 'key' | 'value',
  pages: number,
): TensorMemory {
  const counts = { packed: 0, window: pages, statistics: 0 };
  const memory = new TensorMemory(
    device,
    layer[tensor],
    counts,
    tensorNumbers(layer[tensor]).words,
  );
  const chunk = chunks[tensor];
  const filling = device.createBuffer({ size: chunk.byteLength, usage: 0xc }); // COPY_SRC | COPY_DST
  device.queue.writeBuffer(filling, 0, chunk);
  const encoder = device.createCommandEncoder();
  for (let page = 0; page < pages; page += CHUNK_PAGES) {
    const size = Math.min(CHUNK_PAGES, pages - page) * pageBytes;
    encoder.copyBufferToBuffer(filling, 0, memory.buffer, memory.byteOf('window', page), size);
  }
  device.queue.submit([encoder.finish()]);
  filling.destroy();
  return memory;
}

/** Attention of one query head in float64. */
export function attention(
  query: Float32Array,
  length: number,
  spans: readonly Span[],
  head: number,
): Float64Array {
  const kvHead = Math.floor(head / (QUERY_HEADS / KV_HEADS));
  const row = (tensor: 'key' | 'value', token: number) => {
    const { page } = spans[Math.floor(token / PAGE_TOKENS)] as Span;
    const slot = kvHead * PAGE_TOKENS + (token % PAGE_TOKENS);
    const first = (page % CHUNK_PAGES) * pageHalves + slot * DIM;
    return chunks[tensor].subarray(first, first + DIM);
  };
  const logits = Array.from({ length }, (_, token) => {
    const key = row('key', token);
    return query.reduce((sum, q, c) => sum + q * half(key[c] as number), 0) / Math.sqrt(DIM);
  });
  const largest = logits.reduce((most, logit) => Math.max(most, logit));
  const output = new Float64Array(DIM);
  let sum = 0;
  for (const [token, logit] of logits.entries()) {
    const weight = Math.exp(logit - largest);
    sum += weight;
    for (const [c, value] of row('value', token).entries())
      output[c] = (output[c] as number) + weight * half(value);
  }
  return output.map((value) => value / sum);
}

/** Of normal numbers. */
function half(bits: number): number {
  const magnitude = 2 ** ((bits >> 10) & 31) * (1 + (bits & 1023) / 1024);
  return ((bits & 0x8000) === 0 ? 1 : -1) * magnitude * 2 ** -15;
}

function shuffled(count: number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  let state = 7;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    const j = state % (i + 1);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order;
}
