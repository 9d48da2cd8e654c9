// Mutants of the bookkeeping of a cache: steps, page counts, truncation, reordering, statistics, heads that are stored apart.
import { mutant, type Target } from '../mutant.js';

const stepTests = [
  'cache/window-law.test.ts',
  'cache/transactions.test.ts',
  'cache/shared-residual.test.ts',
  'cache/copied-slots.test.ts',
  'cases/cache-fork-copy-on-write.test.ts',
  'cases/cache-sliding-window-eviction.test.ts',
  'programs/random-programs.test.ts',
];
const readTests = [
  'cache/head-units.test.ts',
  'cache/window-law.test.ts',
  'cases/cache-fork-copy-on-write.test.ts',
  'programs/random-programs.test.ts',
];
const statsTests = [
  'cache/shared-pages.test.ts',
  'cases/cache-residual-accounting.test.ts',
  'cache/window-law.test.ts',
  'cases/cache-fork-copy-on-write.test.ts',
  'programs/random-programs.test.ts',
];

export const cacheTargets: readonly Target[] = [
  {
    file: 'cache/plan-step.ts',
    tests: stepTests,
    mutants: [
      mutant(
        'place',
        'tokens behind the sinks are read from the rows of the sinks',
        'inputSpan(firstRow + newSinks, newTokens',
        'inputSpan(firstRow, newTokens',
      ),
      mutant(
        'choice',
        'pages of the tail that are still needed are let go',
        'if (!kept.has(page)) released',
        'if (kept.has(page)) released',
      ),
      mutant('place', 'a tail goes on in the page of the sinks', 'packs ? firstKept : 0,', '0,'),
      mutant('place', 'a later page gets the first rows again', 'row += taken;', 'row += 0;'),
      mutant(
        'place',
        'a block that goes on is packed from its start',
        'slot: target.count,',
        'slot: 0,',
      ),
      mutant(
        'bound',
        'a block that goes on takes more tokens than it has room for',
        'blockTokens - (open ? last.count : 0)',
        'blockTokens',
      ),
      mutant(
        'place',
        'a page that was copied is never let go',
        'this.#released.push({ kind: entry.kind, page: entry.page });',
        '',
      ),
      mutant(
        'place',
        'a page behind the window is never let go',
        'if (gone) released.push({ kind: entry.kind, page: entry.page });',
        '',
      ),
      mutant(
        'choice',
        'attention sees what is packed after it',
        "pageClass.packing === 'before-attention'",
        "pageClass.packing !== 'before-attention'",
      ),
      mutant(
        'place',
        'statistics are taken of the tokens after the ones that are meant',
        'splitSpans(unpacked, statisticsTokens).head',
        'splitSpans(unpacked, statisticsTokens).rest',
      ),
      mutant(
        'bound',
        'statistics in page 0 are taken again',
        'state.statistics >= 0 ||',
        'state.statistics > 0 ||',
      ),
      mutant(
        'place',
        'the rest of a run is read from its start',
        'slot: span.slot + taken,',
        'slot: span.slot,',
      ),
    ],
  },
  {
    file: 'cache/page-pool.ts',
    tests: stepTests,
    mutants: [
      mutant('bound', 'page 0 is never given', 'page >= 0; page--', 'page > 0; page--'),
      mutant('sign', 'a fresh page has two holders', '[page] = 1;', '[page] = 2;'),
      mutant(
        'place',
        'pages of a step that was given up stay taken',
        'for (const { kind, page } of this.taken) this.#pool.release(kind, page);',
        '',
      ),
      mutant(
        'sign',
        'pages in use are those that are free',
        'return this.counts[kind] - this.#free[kind].length;',
        'return this.#free[kind].length;',
      ),
    ],
  },
  {
    file: 'cache/tensor-state.ts',
    tests: ['cases/cache-truncate-rollback.test.ts', ...stepTests],
    mutants: [
      mutant(
        'bound',
        'a cut run keeps a token too many',
        'count: length - entry.position }',
        'count: length - entry.position + 1 }',
      ),
      mutant(
        'place',
        'a truncation forgets the statistics',
        'statistics: state.statistics }, dropped',
        'statistics: -1 }, dropped',
      ),
    ],
  },
  {
    file: 'cache/step.ts',
    tests: [
      'cache/arguments.test.ts',
      'cache/shared-pages.test.ts',
      'cases/shape-batch-mixed-lengths.test.ts',
      ...stepTests,
    ],
    mutants: [
      mutant(
        'sign',
        'a step replaces the length',
        'currentLength += tokens;',
        'currentLength = tokens;',
      ),
      mutant(
        'sign',
        'a batch has the rows of its last sequence',
        'row += tokens;',
        'row = tokens;',
      ),
      mutant(
        'bound',
        'rows of a sequence begin behind its own',
        'this.#rows.slice(0, i).reduce',
        'this.#rows.slice(0, i + 1).reduce',
      ),
      mutant(
        'bound',
        'queries are placed before the new tokens',
        'length: sequence.length + tokens,',
        'length: sequence.length,',
      ),
      mutant('choice', 'a step of many tokens has one query', '?.[i] ?? tokens,', '?.[i] ?? 1,'),
      mutant(
        'sign',
        'queries of later sequences begin inside those of the ones before',
        'firstQuery += sequence.queries;',
        'firstQuery += 1;',
      ),
      mutant(
        'choice',
        'an abandoned step keeps its pages, a committed one gives them away',
        "if (state === 'abandoned') pages.undo();",
        "if (state === 'committed') pages.undo();",
      ),
      mutant(
        'place',
        'a sequence stays in its step for ever',
        'for (const { sequence } of this.#entries) sequence.inStep = false;',
        '',
      ),
      mutant(
        'bound',
        'neighbours in a batch may be the same sequence',
        'j < i && other.sequence === sequence',
        'j < i - 1 && other.sequence === sequence',
      ),
      mutant(
        'bound',
        'a query more than there are tokens',
        'sequence.queries > sequence.length && sequence.length > 0',
        'sequence.queries > sequence.length + 1 && sequence.length > 0',
      ),
    ],
  },
  {
    file: 'cache/cache.ts',
    tests: [
      'cases/cache-truncate-rollback.test.ts',
      'cases/cache-beam-reorder.test.ts',
      'cases/cache-fork-copy-on-write.test.ts',
      'cache/stats-as-of-the-call.test.ts',
      'programs/random-programs.test.ts',
    ],
    mutants: [
      mutant('place', 'a truncated sequence keeps its length', 'sequence.currentLength = cut;', ''),
      mutant(
        'place',
        'pages that a reorder needs are given away by it',
        'for (const { states } of taken) this.#retainStates(states);',
        '',
      ),
      mutant('place', 'a fork does not hold its pages', 'this.#retainStates(sequence.states);', ''),
      mutant(
        'place',
        'pages that were read stay held',
        'for (const states of held) this.#releaseStates(states);',
        '',
      ),
    ],
  },
  {
    file: 'cache/stats.ts',
    tests: statsTests,
    mutants: [
      mutant(
        'sign',
        'packed tokens count as sinks too',
        'tokensHeld(state) - tail - packed;',
        'tokensHeld(state) - tail;',
      ),
      mutant(
        'bound',
        'slots before a run count as used',
        'slots.fill(1, slot, slot + count)',
        'slots.fill(1, 0, slot + count)',
      ),
      mutant(
        'sign',
        'a surplus is a shortfall',
        'Math.max(promised - tail, 0)',
        'Math.max(tail - promised, 0)',
      ),
      mutant(
        'sign',
        'free bytes are negative',
        'free: allocated - live,',
        'free: live - allocated,',
      ),
      mutant(
        'bound',
        'a shared block counts as long as its shortest holder',
        'Math.max(valid.get(page) ?? 0, count)',
        'Math.min(valid.get(page) ?? count, count)',
      ),
    ],
  },
  {
    file: 'cache/capacity.ts',
    tests: ['cache/capacity.test.ts', 'programs/random-programs.test.ts'],
    mutants: [
      mutant(
        'bound',
        'a tail that begins inside of a page has no room',
        'windowPages(tail + WINDOW_PAGE_TOKENS - 1)',
        'windowPages(tail)',
      ),
      mutant(
        'bound',
        'the tail has no room for a rollback',
        'Math.max(recent + flush + rollback, statisticsTokens)',
        'Math.max(recent + flush, statisticsTokens)',
      ),
      mutant(
        'bound',
        'all sequences share one page of statistics',
        'statisticsTokens > 0 ? sequences : 0',
        'statisticsTokens > 0 ? 1 : 0',
      ),
    ],
  },
  {
    file: 'cache/head-slices.ts',
    tests: readTests,
    mutants: [
      mutant(
        'place',
        'query heads of later kv heads are those of the first',
        'head * group + i',
        'head + i',
      ),
      mutant(
        'place',
        'rows of heads that are stored apart are read as if there were no others',
        'const from = (row * all + head) * dim;',
        'const from = (row * heads.length + head) * dim;',
      ),
      mutant(
        'place',
        'outputs are put together head by head',
        '(query * queryHeads + head) * dim',
        '(head * queries + query) * dim',
      ),
    ],
  },
  {
    file: 'cache/export.ts',
    tests: ['golden.test.ts', ...readTests],
    mutants: [
      mutant(
        'bound',
        'what a block held before is exported with it',
        'canonicalizePage(layout, page, count);',
        'canonicalizePage(layout, page, layout.blockTokens);',
      ),
      mutant(
        'place',
        'all heads are decoded to the first',
        'const to = ((row + i) * heads + head) * headDim;',
        'const to = (row + i) * heads * headDim;',
      ),
      mutant(
        'place',
        'f16 tokens are read from the start of their page',
        '(head * WINDOW_PAGE_TOKENS + entry.slot) * headDim',
        'head * WINDOW_PAGE_TOKENS * headDim',
      ),
      mutant('place', 'later runs overwrite the first', 'row += entry.count;', 'row += 1;'),
    ],
  },
];
