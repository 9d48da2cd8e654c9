// Mutants of the block format: planes and their sizes, codes in bytes, units of heads, and how places in a page are named.
import { mutant, type Target } from '../mutant.js';

const layoutTests = [
  'plan/layout.test.ts',
  'plan/top-outliers.test.ts',
  'plan/accounting.test.ts',
  'documents.test.ts',
  'golden.test.ts',
];

export const blockTargets: readonly Target[] = [
  {
    file: 'plan/layout.ts',
    tests: layoutTests,
    mutants: [
      mutant(
        'bound',
        'end offsets of the later chunks have no room',
        'align(end + blockTokens * chunks * entryBytes, PLANE_ALIGNMENT)',
        'align(end + blockTokens * entryBytes, PLANE_ALIGNMENT)',
      ),
      mutant(
        'bound',
        'top outliers have half their room',
        'align(end + blockTokens * count * 2, PLANE_ALIGNMENT)',
        'align(end + blockTokens * count, PLANE_ALIGNMENT)',
      ),
      mutant(
        'choice',
        'heads share parameters of vectors of one head',
        "groups.along === 'vector' && groups.scope === 'allHeads'",
        "groups.along === 'vector'",
      ),
      mutant(
        'bound',
        'every channel has parameters of its own',
        '(blockTokens / tokensPerGroup) * (headDim / channelsPerGroup)',
        '(blockTokens / tokensPerGroup) * headDim',
      ),
      mutant('bound', 'planes begin on 32 bytes', 'PLANE_ALIGNMENT = 16;', 'PLANE_ALIGNMENT = 32;'),
      mutant(
        'choice',
        'zeros have the type of scales',
        "name === 'zero' ? scheme.parameters.zero :",
        "name === 'zero' ? scheme.parameters.scale :",
      ),
    ],
  },
  {
    file: 'plan/accounting.ts',
    tests: ['plan/paper-bits.test.ts', 'plan/accounting.test.ts'],
    mutants: [
      mutant(
        'sign',
        'f16 has one byte',
        'visibleTokens(pageClass, length) * elementsPerToken * 2;',
        'visibleTokens(pageClass, length) * elementsPerToken;',
      ),
      mutant(
        'shift',
        'bytes are counted as bits',
        '(8 * bytes) / layout.blockTokens',
        'bytes / layout.blockTokens',
      ),
      mutant(
        'sign',
        'inner outliers are not expected',
        'return scheme.outliers.shares.outer + scheme.outliers.shares.inner;',
        'return scheme.outliers.shares.outer;',
      ),
      mutant(
        'sign',
        'room for outliers is that of one head',
        '(layout.heads * layout.sparse.entries.capacity)',
        'layout.sparse.entries.capacity',
      ),
      mutant(
        'sign',
        'tensors weigh as one of their heads',
        'const weight = tensor.heads * tensor.headDim;',
        'const weight = tensor.headDim;',
      ),
    ],
  },
  {
    file: 'plan/page-place.ts',
    tests: ['plan/validate-page.test.ts', 'law/pages.test.ts'],
    mutants: [
      mutant(
        'rounding',
        'a refused parameter is said to be of the next slot',
        'Math.floor(index / perSlot)',
        'Math.ceil(index / perSlot)',
      ),
      mutant(
        'place',
        'slot and group are said the other way round',
        'group: column, slot: row }',
        'group: row, slot: column }',
      ),
      mutant(
        'choice',
        'shared parameters are said to be of a head',
        'layout.parametersShared ? {} : { head }',
        'layout.parametersShared ? { head } : {}',
      ),
    ],
  },
  {
    file: 'plan/page-fields.ts',
    tests: ['page-fields.test.ts'],
    mutants: [
      mutant(
        'place',
        'the shared plane is said to be in head 0',
        '(head ?? layout.heads)',
        '(head ?? 0)',
      ),
      mutant('sign', 'a field is one entry long', 'bytes: count * size,', 'bytes: size,'),
    ],
  },
  {
    file: 'plan/stored-group.ts',
    tests: ['plan/stored-group.test.ts'],
    mutants: [
      mutant(
        'sign',
        'a group along tokens has one code',
        'const size = tokens * channelsPerGroup;',
        'const size = channelsPerGroup;',
      ),
    ],
  },
  {
    file: 'plan/units.ts',
    tests: ['plan/units.test.ts', 'cache/head-units.test.ts'],
    mutants: [
      mutant(
        'choice',
        'an override is for the heads that it does not name',
        '!override.heads.includes(head)',
        'override.heads.includes(head)',
      ),
      mutant('bound', 'the head after the last may be named', 'head >= kvHeads', 'head > kvHeads'),
      mutant(
        'choice',
        'an override of values undoes one of keys',
        'key = override.key ?? key;',
        'key = override.key ?? scheme.key;',
      ),
    ],
  },
  {
    file: 'law/bits.ts',
    tests: ['law/bits.test.ts', 'law/pages.test.ts'],
    mutants: [
      mutant(
        'shift',
        'the second of two codes lies a bit too low',
        'bytes[to++] = (codes[from] as number) | ((codes[from + 1] as number) << 4);',
        'bytes[to++] = (codes[from] as number) | ((codes[from + 1] as number) << 3);',
      ),
      mutant(
        'shift',
        'codes of odd widths lie in reverse',
        'as number) << (bits * j);',
        'as number) << (bits * (7 - j));',
      ),
      mutant(
        'shift',
        'the last of four codes lies a bit too low',
        '((codes[from + 3] as number) << 6)',
        '((codes[from + 3] as number) << 5)',
      ),
      mutant(
        'shift',
        'the last codes of a row overlap',
        'as number) << filled;',
        'as number) << 0;',
      ),
    ],
  },
  {
    file: 'law/page-bytes.ts',
    tests: ['law/law-vectors.test.ts', 'law/pages.test.ts', 'golden.test.ts'],
    mutants: [
      mutant('shift', 'bytes of a number overlap', 'value >>> (8 * i);', 'value >>> (4 * i);'),
    ],
  },
];
