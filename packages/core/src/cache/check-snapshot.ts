/**
 * Whether a snapshot says what a cache of its plan could have written.
 */

import { isFiniteF16 } from '../float16.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readU16 } from '../law/page-bytes.js';
import { statisticsFault } from '../law/statistics-range.js';
import type { Pause } from '../pause.js';
import { type PageClass, type Plan, type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import { validatePage } from '../plan/validate-page.js';
import {
  invalidSnapshot,
  type PageCounts,
  type SnapshotHeader,
  snapshotSections,
} from './snapshot-header.js';
import { type Entry, heldFrom } from './tensor-state.js';

/** Throws SNAPSHOT_INVALID for pages and sequences that do not fit the plan or one another. */
export function checkHeader(header: SnapshotHeader, plan: Plan): void {
  if (header.pages.length !== plan.classes.length)
    invalidSnapshot(
      'wrong number of page classes',
      header.pages.length,
      String(plan.classes.length),
    );
  for (const [i, counts] of header.pages.entries()) {
    const { blockTokens, statisticsTokens } = plan.classes[i] as PageClass;
    const longest = counts.packed.find((tokens) => tokens > blockTokens);
    if (longest !== undefined)
      invalidSnapshot(
        'a packed page is longer than a block',
        longest,
        `at most ${blockTokens} tokens`,
      );
    if (statisticsTokens === 0 && counts.statistics > 0)
      invalidSnapshot('a statistics page nobody takes', counts.statistics, '0');
  }
  for (const sequence of header.sequences) {
    if (sequence.states.length !== plan.classes.length)
      invalidSnapshot(
        'wrong number of states',
        sequence.states.length,
        String(plan.classes.length),
      );
    for (const [i, state] of sequence.states.entries())
      checkState(state, sequence.length, i, header, plan);
  }
}

function checkState(
  state: SnapshotHeader['sequences'][number]['states'][number],
  length: number,
  i: number,
  header: SnapshotHeader,
  plan: Plan,
): void {
  const counts = header.pages[i] as PageCounts;
  const pageClass = plan.classes[i] as PageClass;
  const window = pageClass.slidingWindow;
  if (state.statistics >= counts.statistics)
    invalidSnapshot(
      'a statistics page does not exist',
      state.statistics,
      `below ${counts.statistics}`,
    );
  if (pageClass.statisticsTokens > 0 && state.statistics < 0) {
    if (state.entries.some((entry) => entry.kind === 'packed'))
      invalidSnapshot('packed tokens lack their statistics', state.statistics, 'a statistics page');
  }
  let position = 0;
  let part = 0;
  const pages = new Set<string>();
  for (const entry of state.entries) {
    const existing = entry.kind === 'packed' ? counts.packed.length : counts.window;
    const slots = entry.kind === 'packed' ? (counts.packed[entry.page] ?? 0) : WINDOW_PAGE_TOKENS;
    if (entry.page >= existing)
      invalidSnapshot(`a ${entry.kind} page does not exist`, entry.page, `below ${existing}`);
    if (entry.slot + entry.count > slots || (entry.kind === 'packed' && entry.slot !== 0))
      invalidSnapshot('an entry reaches past its page', entry, `slots of a ${entry.kind} page`);
    if (entry.position < position || (entry.position > position && window === null))
      invalidSnapshot('entries are out of order', entry.position, String(position));
    position = entry.position + entry.count;
    const next = partOf(entry, pageClass);
    if (next < part || (next === SINK && position > pageClass.sinks))
      invalidSnapshot('entries are out of order', entry, 'sinks, packed blocks, f16 tail');
    part = next;
    const key = `${entry.kind} ${entry.page}`;
    if (pages.has(key))
      invalidSnapshot('a page is used twice by one sequence', entry.page, 'each page once');
    pages.add(key);
  }
  if (position !== length)
    invalidSnapshot('entries do not end at the length of the sequence', position, String(length));
  const oldest = window === null ? 0 : Math.max(window.sinks, length - window.size);
  if (oldest < length && heldFrom(state.entries, length) > oldest)
    invalidSnapshot(
      'visible tokens are missing',
      heldFrom(state.entries, length),
      `at most ${oldest}`,
    );
  const seenForEver = Math.min(window?.sinks ?? 0, length);
  const firstSeen = heldFrom(state.entries, seenForEver);
  if (firstSeen > 0) invalidSnapshot('sinks of the sliding window are missing', firstSeen, '0');
}

const SINK = 0;

/** Sinks come first, then packed blocks, then the tail. */
function partOf({ kind, position }: Entry, { sinks }: PageClass): number {
  if (kind === 'packed') return 1;
  return position < sinks ? SINK : 2;
}

/**
 * Damaged scales or outlier lists decode to something plausible: every packed page is checked before it is used. f16 tokens
 * are checked as `append` checks them, statistics for what no measurement gives.
 */
export async function checkPages(
  header: SnapshotHeader,
  plan: Plan,
  payload: Uint8Array,
  nonFinite: 'error' | 'mask',
  pause: Pause,
): Promise<void> {
  for (const { unit, tensor, kind, offset, pages, pageBytes: size } of snapshotSections(
    header,
    plan,
  )) {
    await pause();
    const tensorPlan = unit[tensor];
    const section = payload.subarray(offset, offset + pages * size);
    if (kind === 'window' && nonFinite === 'error') checkFinite(section, tensor, unit.layer);
    if (kind === 'statistics') checkStatistics(section, tensorPlan, tensor, unit.layer);
    if (kind !== 'packed' || tensorPlan.layout === null) continue;
    const { packed } = header.pages[tensorPlan.class] as PageCounts;
    for (const [i, valid] of packed.entries()) {
      const page = section.subarray(i * size, (i + 1) * size);
      validatePage(tensorPlan as PackedTensorPlan, page, valid, unit.layer);
    }
  }
}

function checkFinite(section: Uint8Array, tensor: string, layer: number): void {
  for (let at = 0; at < section.length; at += 2) {
    const bits = readU16(section, at);
    if (isFiniteF16(bits)) continue;
    invalidSnapshot(
      `a window page of the ${tensor}s of layer ${layer} holds a value that is not finite`,
      `bits 0x${bits.toString(16)}`,
      'finite f16 values',
    );
  }
}

function checkStatistics(
  section: Uint8Array,
  tensorPlan: TensorPlan,
  tensor: string,
  layer: number,
): void {
  const fault = statisticsFault(
    tensorPlan,
    (index) => readU16(section, 2 * index),
    section.length / 2,
  );
  if (fault === null) return;
  invalidSnapshot(
    `a statistics page of the ${tensor}s of layer ${layer} holds what no measurement gives`,
    `bits 0x${fault.bits.toString(16)}`,
    fault.valid,
  );
}
