/**
 * How many tokens, and how many sequences, fit into memory: a search over `planBytes`.
 *
 * Bytes rise and fall as a sequence grows: f16 tokens are packed together, sliding windows evict pages. What fits is the
 * largest length up to which every length fits.
 */
import {
  type LayerPlan,
  type PageClass,
  type Plan,
  planBytes,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';

export type BytesOf = (tokens: number) => number;

/** `planBytes(plan, tokens).total`, counting layers that are stored alike once. */
export function sequenceBytes(plan: Plan): BytesOf {
  const alike = new Map<string, { layers: LayerPlan[]; count: number }>();
  for (const layer of plan.layers) {
    const identity = JSON.stringify(
      [layer.key, layer.value].map((t) => ({ ...t, calibration: null })),
    );
    const known = alike.get(identity);
    if (known === undefined) alike.set(identity, { layers: [layer], count: 1 });
    else known.count += 1;
  }
  const parts = [...alike.values()].map(({ layers, count }) => ({
    part: { ...plan, layers },
    count,
  }));
  const known = new Map<number, number>();
  return (tokens) => {
    let bytes = known.get(tokens);
    if (bytes === undefined) {
      bytes = parts.reduce(
        (sum, { part, count }) => sum + count * planBytes(part, tokens).total,
        0,
      );
      known.set(tokens, bytes);
    }
    return bytes;
  };
}

/** Tokens of one sequence up to which every length fits; null when any length does. */
export function tokensThatFit(plan: Plan, bytesOf: BytesOf, memory: number): number | null {
  const { settled, period } = rhythm(plan);
  const rise = largestRise(plan);
  const beginning = firstAbove(bytesOf, memory, rise, 0, settled + period);
  if (beginning !== null) return beginning - 1;
  // From `settled` on a period adds the same bytes wherever it starts, so the peak of each is at one place.
  const growth = bytesOf(settled + period) - bytesOf(settled);
  if (growth === 0) return null;
  let peak = settled;
  for (let at = settled; at < settled + period; at++) if (bytesOf(at) > bytesOf(peak)) peak = at;
  const fits = (periods: number) => bytesOf(peak + periods * period) <= memory;
  let low = 0;
  let high = 1;
  while (fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  const from = settled + high * period;
  return (firstAbove(bytesOf, memory, rise, from, from + period) as number) - 1;
}

/** Sequences of this many tokens each. */
export function sequencesThatFit(bytesOf: BytesOf, memory: number, tokens: number): number {
  return Math.floor(memory / bytesOf(tokens));
}

/** The first length in [from, end) whose bytes are above `memory`, skipping lengths that cannot be. */
function firstAbove(
  bytesOf: BytesOf,
  memory: number,
  rise: number,
  from: number,
  end: number,
): number | null {
  for (let at = from; at < end; ) {
    const room = memory - bytesOf(at);
    if (room < 0) return at;
    at += Math.floor(room / rise) + 1;
  }
  return null;
}

/** From `settled` tokens on, pages are packed and evicted in a rhythm of `period` tokens. */
function rhythm({ classes }: Plan): { settled: number; period: number } {
  let settled = 0;
  let period = WINDOW_PAGE_TOKENS;
  for (const pageClass of classes) {
    const { sinks, recent, flush, blockTokens, statisticsTokens, slidingWindow } = pageClass;
    const kept = recent + flush + blockTokens + statisticsTokens + WINDOW_PAGE_TOKENS;
    const seen = slidingWindow === null ? 0 : slidingWindow.size + slidingWindow.sinks;
    settled = Math.max(settled, sinks + kept + seen);
    for (const length of [flush, blockTokens])
      if (length > 0) period = leastMultiple(period, length);
  }
  return { settled, period };
}

/** Bytes that one token more can add at most: a page of every kind, and the blocks that waited for statistics. */
function largestRise({ layers, classes }: Plan): number {
  return layers
    .flatMap(({ key, value }) => [key, value])
    .reduce((sum, tensor) => {
      const { blockTokens, statisticsTokens } = classes[tensor.class] as PageClass;
      const blocks = blockTokens === 0 ? 0 : 1 + Math.ceil(statisticsTokens / blockTokens);
      const packed = blocks * (tensor.layout?.pageBytes ?? 0);
      return sum + packed + 2 * tensor.windowPageBytes + tensor.statisticsPageBytes;
    }, 0);
}

function leastMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
