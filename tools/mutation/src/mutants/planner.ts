// Mutants of the planner: layouts, sizes, accounting, and the checks of pages from outside.
import type { Target } from '../mutant.js';

const layoutTests = [
  'documents.test.ts',
  'plan/top-outliers.test.ts',
  'plan/layout.test.ts',
  'plan/accounting.test.ts',
];
const pageTests = ['plan/validate-page.test.ts', 'law/pages.test.ts', 'cache/snapshot.test.ts'];

export const plannerTargets: readonly Target[] = [
  {
    file: 'plan/layout.ts',
    tests: layoutTests,
    mutants: [
      {
        kind: 'bound',
        find: 'capacity <= 0xffff ? 2 : 4',
        replace: 'capacity < 0xffff ? 2 : 4',
        why: 'the largest capacity of 16 bits gets offsets of 32',
      },
      {
        kind: 'bound',
        find: 'headDim <= 256 ? 1 : 2',
        replace: 'headDim < 256 ? 1 : 2',
        why: 'channels of a head of 256 are stored in two bytes',
      },
      {
        kind: 'rounding',
        find: 'rowBytes: align(width * bits, 32) / 8',
        replace: 'rowBytes: align(width * bits, 8) / 8',
        why: 'rows of codes start on bytes, not on words',
      },
      {
        kind: 'bound',
        find: 'Math.min(reserve, headDim - first, OUTLIER_CHUNK)',
        replace: 'Math.min(reserve, OUTLIER_CHUNK)',
        why: 'a short last chunk gets more room than it has channels',
      },
      {
        kind: 'rounding',
        find: 'return Math.ceil(value / multiple) * multiple;',
        replace: 'return Math.round(value / multiple) * multiple;',
        why: 'planes overlap when their padding is more than half',
      },
      {
        kind: 'bound',
        find: 'pageBytes: heads * end + sharedEnd,',
        replace: 'pageBytes: heads * end,',
        why: 'a page has no room for shared parameters',
      },
    ],
  },
  {
    file: 'plan/plan.ts',
    tests: [
      ...layoutTests,
      'plan/calibrated-transforms.test.ts',
      'cases/cache-sliding-window-eviction.test.ts',
      'cache/window-law.test.ts',
      'cache/capacity.test.ts',
    ],
    mutants: [
      {
        kind: 'rounding',
        find: 'Math.ceil(wanted / flush) * flush',
        replace: 'Math.floor(wanted / flush) * flush',
        why: 'a block is rounded down to whole flushes',
      },
      {
        kind: 'bound',
        find: 'const SLIDING_BLOCK_TOKENS = 32;',
        replace: 'const SLIDING_BLOCK_TOKENS = 64;',
        why: 'blocks of sliding windows are twice as long',
      },
      {
        kind: 'bound',
        find: 'Math.min(Math.max(0, ...wanted), shape.slidingWindow?.size ?? Number.POSITIVE_INFINITY)',
        replace: 'Math.max(0, ...wanted)',
        why: 'statistics wait for more tokens than a sliding window holds',
      },
    ],
  },
  {
    file: 'plan/canonical.ts',
    tests: [...pageTests, 'golden.test.ts'],
    mutants: [
      {
        kind: 'rounding',
        find: 'bytes: Math.ceil((validTokens * bits) / 8)',
        replace: 'bytes: Math.floor((validTokens * bits) / 8)',
        why: 'codes in a byte that is not full are zeroed',
      },
      {
        kind: 'shift',
        find: '(2 ** (used & 7) - 1)',
        replace: '(2 ** (used & 3) - 1)',
        why: 'too many bits of the last byte are cleared',
      },
      {
        kind: 'bound',
        find: '(tokens * chunks - 1) * entryBytes',
        replace: '(tokens - 1) * chunks * entryBytes',
        why: 'outliers of the later chunks of the last token are not counted',
      },
      {
        kind: 'rounding',
        find: 'Math.ceil(validTokens / layout.tokensPerGroup)',
        replace: 'Math.floor(validTokens / layout.tokensPerGroup)',
        why: 'parameters of a group that is not full are zeroed',
      },
    ],
  },
  {
    file: 'plan/accounting.ts',
    tests: ['plan/accounting.test.ts'],
    mutants: [
      {
        kind: 'bound',
        find: '(lastBlock > 0 ? 1 : 0)',
        replace: '(lastBlock > 32 ? 1 : 0)',
        why: 'a short last block has no page',
      },
      {
        kind: 'bound',
        find: 'Math.min(length, window.sinks + window.size)',
        replace: 'Math.min(length, window.size)',
        why: 'sinks of a sliding window are not visible',
      },
      {
        kind: 'rounding',
        find: 'Math.round(outliers.expected)',
        replace: 'Math.ceil(outliers.expected)',
        why: 'the expected outliers are rounded up',
      },
      {
        kind: 'sign',
        find: 'alignment: total - parts,',
        replace: 'alignment: parts - total,',
        why: 'padding is negative',
      },
    ],
  },
  {
    file: 'plan/held-tokens.ts',
    tests: ['plan/accounting.test.ts', 'cases/cache-residual-accounting.test.ts'],
    mutants: [
      {
        kind: 'bound',
        find: 'start + count > oldest ? partial : 0',
        replace: 'start + count >= oldest ? partial : 0',
        why: 'a last page that ends just before the window is kept',
      },
      {
        kind: 'rounding',
        find: 'Math.ceil((visible - start) / page)',
        replace: 'Math.floor((visible - start) / page)',
        why: 'a page that holds the last visible sink is evicted',
      },
      {
        kind: 'bound',
        find: 'return left > 1 ? packed % WINDOW_PAGE_TOKENS : 0;',
        replace: 'return left > 0 ? packed % WINDOW_PAGE_TOKENS : 0;',
        why: 'a tail that a packing step empties goes on in its old page',
      },
      {
        kind: 'bound',
        find: 'length >= pageClass.sinks + statisticsTokens ? 1 : 0',
        replace: 'length > pageClass.sinks + statisticsTokens ? 1 : 0',
        why: 'the statistics page comes a token late',
      },
    ],
  },
  {
    file: 'plan/validate-page.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'bound',
        find: 'validTokens > layout.blockTokens)',
        replace: 'validTokens > layout.blockTokens + 1)',
        why: 'a page may hold a token more than it has room for',
      },
      {
        kind: 'bound',
        find: 'if (at >= 0)',
        replace: 'if (at > 0)',
        why: 'the first byte of a page is not checked',
      },
    ],
  },
  {
    file: 'plan/validate-groups.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'bound',
        find: 'if (magnitude >= notFinite)',
        replace: 'if (magnitude > notFinite)',
        why: 'an infinite parameter passes',
      },
      {
        kind: 'bound',
        find: 'magnitude < smallestScale',
        replace: 'magnitude <= smallestScale',
        why: 'the smallest scale that the law writes is refused',
      },
      {
        kind: 'bound',
        find: '(code) => code >= count',
        replace: '(code) => code > count',
        why: 'the code after the last level passes',
      },
      {
        kind: 'sign',
        find: "scheme.quantizer.mode === 'hybrid' && (scale & sign) === 0",
        replace: "scheme.quantizer.mode === 'hybrid' && (scale & sign) !== 0",
        why: 'the zero of an asymmetric group is refused, not that of a symmetric one',
      },
    ],
  },
  {
    file: 'plan/validate-top.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'bound',
        find: 'channel >= headDim)',
        replace: 'channel > headDim)',
        why: 'an outlier may lie one channel beyond the head',
      },
      {
        kind: 'bound',
        find: 'least = channel + 1;',
        replace: 'least = channel;',
        why: 'an outlier may be listed twice',
      },
    ],
  },
  {
    file: 'plan/validate-bands.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'bound',
        find: 'index >= width',
        replace: 'index > width',
        why: 'an outlier of a short chunk may lie one channel beyond the head',
      },
      {
        kind: 'bound',
        find: 'least = index + 1;',
        replace: 'least = index;',
        why: 'an outlier may be listed twice',
      },
      {
        kind: 'bound',
        find: 'end > entries.capacity)',
        replace: 'end > entries.capacity + 1)',
        why: 'a list may run one byte beyond its room',
      },
      {
        kind: 'shift',
        find: 'nibble | ((entry >> 7) << 4)',
        replace: 'nibble | ((entry >> 8) << 4)',
        why: 'the fifth bit of an inner code may stand beside a step of 0',
      },
    ],
  },
];
