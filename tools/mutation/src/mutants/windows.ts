// Mutants of the windows: which tokens are packed, written, seen, evicted and copied, and where.
import type { Target } from '../mutant.js';

const windowTests = [
  'cache/window-law.test.ts',
  'cache/shared-residual.test.ts',
  'cache/copied-slots.test.ts',
  'cases/cache-fork-copy-on-write.test.ts',
  'cases/cache-sliding-window-eviction.test.ts',
  'cache/transactions.test.ts',
  'cases/cache-truncate-rollback.test.ts',
  'plan/accounting.test.ts',
  'programs/random-programs.test.ts',
];

export const windowTargets: readonly Target[] = [
  {
    file: 'cache/window.ts',
    tests: windowTests,
    mutants: [
      {
        kind: 'bound',
        find: 'length < rule.sinks + rule.statisticsTokens',
        replace: 'length <= rule.sinks + rule.statisticsTokens',
        why: 'packing waits for a token more than the statistics need',
      },
      {
        kind: 'rounding',
        find: 'return Math.floor(Math.max(tail',
        replace: 'return Math.round(Math.max(tail',
        why: 'half a flush is packed as a whole one',
      },
      {
        kind: 'sign',
        find: 'tail - rule.recent - rollback',
        replace: 'tail - rule.recent + rollback',
        why: 'tokens that may be taken back are packed',
      },
    ],
  },
  {
    file: 'cache/plan-step.ts',
    tests: windowTests,
    mutants: [
      {
        kind: 'bound',
        find: 'last.count % tokensPerGroup === 0;',
        replace: 'last.count >= 0;',
        why: 'packing goes on inside a group that a truncation cut',
      },
      {
        kind: 'bound',
        find: 'last.slot + last.count < WINDOW_PAGE_TOKENS;',
        replace: 'last.slot + last.count < WINDOW_PAGE_TOKENS - 1;',
        why: 'the last slot of a window page is left empty',
      },
      {
        kind: 'bound',
        find: 'newLength < sinks + statisticsTokens',
        replace: 'newLength <= sinks + statisticsTokens',
        why: 'statistics are taken a token late',
      },
      {
        kind: 'bound',
        find: 'endOf(entry) <= oldest',
        replace: 'endOf(entry) < oldest',
        why: 'a page that ends just before the window is kept',
      },
      {
        kind: 'sign',
        find: 'const oldest = newLength - window.size - request.rollback;',
        replace: 'const oldest = newLength - window.size + request.rollback;',
        why: 'tokens that a rollback would show again are evicted',
      },
      {
        kind: 'bound',
        find: '&& entry.position >= window.sinks;',
        replace: '&& entry.position > window.sinks;',
        why: 'a page that begins where the sinks end is never evicted',
      },
      {
        kind: 'bound',
        find: 'count: entry.slot + entry.count,',
        replace: 'count: entry.count,',
        why: 'a copy of a shared page misses its last tokens when the first were packed',
      },
      {
        kind: 'bound',
        find: 'position + count <= newLength - window.size - this.#request.rollback',
        replace: 'position + count <= newLength - window.size - this.#request.rollback + 1',
        why: 'a token that the next query sees is not packed',
      },
      {
        kind: 'sign',
        find: 'position: span.position + taken,',
        replace: 'position: span.position - taken,',
        why: 'the rest of a run moves to earlier positions',
      },
    ],
  },
  {
    file: 'cache/page-pool.ts',
    tests: windowTests,
    mutants: [
      {
        kind: 'bound',
        find: 'this.#pool.references(kind, page) > 1;',
        replace: 'this.#pool.references(kind, page) > 2;',
        why: 'a page that two sequences share is written in place',
      },
      {
        kind: 'bound',
        find: 'if (left === 0) this.#free[kind].push(page);',
        replace: 'if (left <= 1) this.#free[kind].push(page);',
        why: 'a page is given away while a sequence still holds it',
      },
      {
        kind: 'sign',
        find: 'this.references(kind, page) + 1;',
        replace: 'this.references(kind, page) + 2;',
        why: 'a page that was shared is never freed',
      },
      {
        kind: 'bound',
        find: 'if (page < 0) this.missing[kind]++;',
        replace: 'if (page <= 0) this.missing[kind]++;',
        why: 'page 0 counts as missing',
      },
    ],
  },
  {
    file: 'cache/truncate.ts',
    tests: ['documents.test.ts', ...windowTests],
    mutants: [
      {
        kind: 'bound',
        find: 'if (length > sequence.length) {',
        replace: 'if (length > sequence.length + 1) {',
        why: 'a sequence may be truncated to a token more than it has',
      },
      {
        kind: 'bound',
        find: 'heldFrom(entries, length) <= oldest',
        replace: 'heldFrom(entries, length) < oldest',
        why: 'a truncation that shows the oldest token held is refused',
      },
      {
        kind: 'sign',
        find: 'Math.max(window.sinks, length - window.size)',
        replace: 'Math.max(window.sinks, length + window.size)',
        why: 'no truncation of a sliding window is refused',
      },
    ],
  },
  {
    file: 'cache/tensor-state.ts',
    tests: windowTests,
    mutants: [
      {
        kind: 'bound',
        find: 'entry.position < pageClass.sinks',
        replace: 'entry.position <= pageClass.sinks',
        why: 'a tail that begins where the sinks end counts as sinks',
      },
      {
        kind: 'bound',
        find: 'if (entry.position >= length) dropped.push(entry);',
        replace: 'if (entry.position > length) dropped.push(entry);',
        why: 'a run without tokens stays after a truncation',
      },
      {
        kind: 'bound',
        find: 'if (position + count < first) break;',
        replace: 'if (position + count <= first) break;',
        why: 'an unbroken run seems to begin at its last page',
      },
    ],
  },
  {
    file: 'cache/capacity.ts',
    tests: ['cache/capacity.test.ts', 'cases/cache-fork-copy-on-write.test.ts'],
    mutants: [
      {
        kind: 'bound',
        find: 'const copies = sequences > 1 ? 1 : 0;',
        replace: 'const copies = sequences > 2 ? 1 : 0;',
        why: 'two sequences have no page for the copy that one must make',
      },
    ],
  },
];
