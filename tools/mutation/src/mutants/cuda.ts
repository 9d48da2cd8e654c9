// Mutants of the host side of CUDA: balance, tables of work, layouts of pages, tables of packing, faults of steps, parameters.
import { mutant, type Target } from '../mutant.js';

const where = 'backend-cuda';
const workTests = ['work-list.test.ts'];
const layoutTests = [
  'page-layout.test.ts::(places of their own|there and back|groups along)',
  'page-layout.test.ts::says the same',
];

export const cudaTargets: readonly Target[] = [
  {
    package: where,
    file: 'attend/balance.ts',
    tests: ['balance.test.ts', 'work-list.test.ts'],
    mutants: [
      mutant(
        'rounding',
        'items are larger than they may be',
        'Math.ceil(cost / largest - ROUNDING)',
        'Math.floor(cost / largest - ROUNDING)',
      ),
      mutant(
        'sign',
        'the cheapest items come first',
        'itemCost(b) - itemCost(a) || a - b',
        'itemCost(a) - itemCost(b) || a - b',
      ),
      mutant(
        'bound',
        'a capacity is exceeded by one',
        'sum(counts) > capacity)',
        'sum(counts) > capacity + 1)',
      ),
      mutant(
        'bound',
        'a heap keeps the wrong order',
        '(heap[child] as number) >= value',
        '(heap[child] as number) <= value',
      ),
      mutant(
        'sign',
        'the slot that is free last is taken',
        '(heap[right] as number) < (heap[child] as number)',
        '(heap[right] as number) > (heap[child] as number)',
      ),
      mutant(
        'bound',
        'the last item decides, not the longest',
        'last = Math.max(last, end);',
        'last = end;',
      ),
      mutant(
        'rounding',
        'items of less than a page',
        'Math.floor(cost / PAGE_COST)',
        'Math.ceil(cost / PAGE_COST)',
      ),
    ],
  },
  {
    package: where,
    file: 'attend/work-list.ts',
    tests: workTests,
    mutants: [
      mutant(
        'shift',
        'the tokens of a page are a bit off',
        'slot | (count << 16)',
        'slot | (count << 15)',
      ),
      mutant(
        'place',
        'a run inside of a span is read from its start',
        'const keySlot = key.slot + position - key.position;',
        'const keySlot = key.slot;',
      ),
      mutant(
        'bound',
        'the last share has more tokens than there are',
        'Math.min(rests, REST_COST_TOKENS * Math.floor(((split + 1) * runs) / count))',
        'REST_COST_TOKENS * Math.floor(((split + 1) * runs) / count)',
      ),
      mutant(
        'bound',
        'a share counts packed tokens of the next',
        'Math.min(Math.max(packedRests - rest, 0), restEnd - rest);',
        'Math.max(packedRests - rest, 0);',
      ),
      mutant(
        'place',
        'later query tokens are placed side by side with the first',
        'position: length - queries + index * most,',
        'position: length - queries + index,',
      ),
      mutant(
        'bound',
        'the last block has query tokens of the next',
        'Math.min(most, queries - index * most)',
        'most',
      ),
      mutant(
        'bound',
        'a sliding window is a token shorter',
        '[end - window.size, end],',
        '[end - window.size + 1, end],',
      ),
      mutant(
        'bound',
        'a query does not see its own token',
        'as number) <= position) low',
        'as number) < position) low',
      ),
      mutant(
        'bound',
        'a run reaches past what a query sees',
        'const end = Math.min(position + count, to);',
        'const end = position + count;',
      ),
      mutant(
        'bound',
        'a shared page shows a token too many',
        'if (end > position + 1) return',
        'if (end > position + 2) return',
      ),
      mutant(
        'place',
        'rows of packed pages are counted as of window pages',
        "(source === 'packed' ? pageTokens : WINDOW_PAGE_TOKENS)",
        'WINDOW_PAGE_TOKENS',
      ),
      mutant(
        'bound',
        'entries go on past the end of their page',
        'at - (at % entryTokens) + entryTokens',
        'at + entryTokens',
      ),
      mutant(
        'choice',
        'what is not one run is shown as one',
        'packed === packedRests || later === 0;',
        'true;',
      ),
      mutant(
        'choice',
        'other statistics of values are not noticed',
        'if (a.key.statistics !== b.key.statistics || a.value.statistics !== b.value.statistics)',
        'if (a.key.statistics !== b.key.statistics)',
      ),
      mutant(
        'choice',
        'a span that grew is not noticed',
        'if (a.count !== b.count || a.position !== b.position) return false;',
        '',
      ),
      mutant('bound', 'blocks that just fit are not taken', 'most <= queries)', 'most < queries)'),
      mutant(
        'choice',
        'pages in different slots count as equal',
        'if (slot !== value.slot % entryTokens) return false;',
        '',
      ),
    ],
  },
  {
    package: where,
    file: 'attend/common-runs.ts',
    tests: workTests,
    mutants: [
      mutant(
        'bound',
        'runs of no tokens are visited',
        'if (first < end) visit',
        'if (first <= end) visit',
        'who visits cuts runs to what a query sees, and leaves out what has no tokens then',
      ),
      mutant(
        'bound',
        'runs begin where the first tensor has them',
        'Math.max(key.position, value.position)',
        'key.position',
      ),
    ],
  },
  {
    package: where,
    file: 'pages/page-layout.ts',
    tests: layoutTests,
    mutants: [
      mutant(
        'place',
        'tokens of values lie in another order than the kernel reads them',
        '+ 2 * (within & 1) + (within >> 3)',
        '+ 2 * (within >> 3) + (within & 1)',
      ),
      mutant(
        'bound',
        'the third word of 3-bit codes is spread',
        '(half & 3) < 3',
        '(half & 3) < 2',
      ),
      mutant(
        'shift',
        'spread codes lie a bit too low',
        'byte + 6 + (bit & 1)',
        'byte + 5 + (bit & 1)',
      ),
      mutant(
        'place',
        'parameters share places',
        '(other >> 4) * 4 + place',
        '(other >> 4) * 4 + (other & 2)',
      ),
      mutant(
        'choice',
        'symmetric groups of hybrid pieces are not turned',
        '!hasZero || (isHybrid && isAround(piece, token, channel))',
        '!hasZero',
      ),
      mutant(
        'sign',
        'the mark of hybrid groups is read the other way round',
        '& 0x80) === 0',
        '& 0x80) !== 0',
      ),
      mutant(
        'place',
        'later pages of a block get the parameters of the first',
        '(number * PAGE_TOKENS + other)',
        'other',
      ),
      mutant('bound', 'vectors are half as long', 'reduced % 64 === 0 ? 4 : 2', '2'),
    ],
  },
  {
    package: where,
    file: 'pages/outlier-words.ts',
    tests: ['outlier-words.test.ts'],
    mutants: [
      mutant(
        'shift',
        'the first bit of a middle code is a bit off',
        '((nibble >> 3) << 13)',
        '((nibble >> 3) << 12)',
      ),
      mutant(
        'place',
        'rows of a tile are turned half as far',
        '(inRow ^ ((token % 8) * 8))',
        '(inRow ^ ((token % 4) * 8))',
      ),
      mutant(
        'shift',
        'channels lose a bit on the way back',
        '| (channel & 63);',
        '| (channel & 31);',
      ),
      mutant(
        'place',
        'outliers of later chunks lie in the first',
        '(run % chunks) * 64 + (byte & 63)',
        '(byte & 63)',
      ),
    ],
  },
  {
    package: where,
    file: 'store/pack-words.ts',
    tests: ['pack-words.test.ts'],
    mutants: [
      mutant(
        'shift',
        'places beyond 4 GiB are cut',
        'words[at + 1] = Math.floor(value / 2 ** 32);',
        'words[at + 1] = 0;',
      ),
      mutant(
        'place',
        'statistics are looked for among windows',
        "memory.sizeOf('statistics')",
        "memory.sizeOf('window')",
      ),
      mutant(
        'place',
        'later sources begin inside of the first',
        'row += source.count;',
        'row += 1;',
      ),
      mutant(
        'place',
        'heads of the input lie as far apart as those of windows',
        'isInput ? headDim : WINDOW_PAGE_TOKENS * headDim',
        'WINDOW_PAGE_TOKENS * headDim',
      ),
      mutant('shift', 'rows of the input have one byte', '2 * slot * width', 'slot * width'),
    ],
  },
  {
    package: where,
    file: 'store/buffer-pool.ts',
    tests: ['store-memory.test.ts', 'store-life.test.ts', 'store-faults.test.ts'],
    mutants: [
      mutant('sign', 'what was freed still counts', 'this.#bytes -= memory.bytes;', ''),
      mutant(
        'choice',
        'memory that is given back is given twice',
        'if (found !== undefined) return found;',
        'if (found !== undefined) { this.give(found); return found; }',
      ),
    ],
  },
  {
    package: where,
    file: 'store/step-flags.ts',
    tests: [
      'step-flags.test.ts',
      'store-life.test.ts',
      'step-calls.test.ts',
      'captured-step-corners.test.ts',
      'store-faults.test.ts',
    ],
    mutants: [
      mutant(
        'bound',
        'a word without a fault is one',
        'if (number < end) throw',
        'if (number <= end) throw',
      ),
      mutant('shift', 'words of jobs overlap', 'BigInt(4 * flag)', 'BigInt(flag)'),
      mutant(
        'place',
        'words of a step are never free again',
        'if (!isCaptured) this.#free.push(flag);\n    }\n  }\n\n  /** The step',
        '}\n  }\n\n  /** The step',
      ),
    ],
  },
  {
    package: where,
    file: 'store/moves.ts',
    tests: ['structs.test.ts', 'store-tensors.test.ts'],
    mutants: [
      mutant(
        'place',
        'heads are written where tokens are read',
        'tokensPerBatch: 56,',
        'tokensPerBatch: 60,',
      ),
    ],
  },
  {
    package: where,
    file: 'attend/structs.ts',
    tests: ['structs.test.ts'],
    mutants: [
      mutant(
        'place',
        'packed tokens are written where shares are read',
        'packedRests: 20,',
        'packedRests: 24,',
      ),
      mutant('bound', 'jobs are a field too short', 'bytes: 160,', 'bytes: 152,'),
    ],
  },
  {
    package: where,
    file: 'driver/parameter-block.ts',
    tests: ['kernels.test.ts', 'memory-and-streams.test.ts', 'graphs.test.ts'],
    mutants: [
      mutant(
        'rounding',
        'structs overlap what follows',
        'Math.ceil(size / SLOT_BYTES) * SLOT_BYTES',
        'SLOT_BYTES',
      ),
      mutant('bound', '2^32 is taken for 32 bits', 'value < U32_END', 'value <= U32_END'),
      mutant(
        'bound',
        'the least 32-bit integer is refused',
        'value >= -I32_END',
        'value > -I32_END',
      ),
      mutant('place', 'all parameters are the first', 'start + BigInt(offset)', 'start'),
    ],
  },
  {
    package: where,
    file: 'driver/check-range.ts',
    tests: ['memory-and-streams.test.ts'],
    mutants: [
      mutant(
        'bound',
        'a range may end a byte past its memory',
        'offset + bytes <= available',
        'offset + bytes <= available + 1',
      ),
      mutant('sign', 'a range may begin before its memory', 'offset >= 0 &&', 'offset >= -1 &&'),
    ],
  },
  {
    package: where,
    file: 'driver/upload-ring.ts',
    tests: [
      'memory-and-streams.test.ts',
      'graphs.test.ts',
      'step-calls.test.ts',
      'store-life.test.ts',
    ],
    mutants: [
      mutant(
        'place',
        'an upload overwrites the one before',
        'chunk.used += Math.ceil(source.byteLength / ALIGNMENT) * ALIGNMENT;',
        '',
      ),
      mutant(
        'choice',
        'a chunk is filled again before it was read',
        'for (const mark of oldest.marks.values()) mark.synchronize();',
        '',
      ),
    ],
  },
  {
    package: where,
    file: 'driver/launch-config.ts',
    tests: ['kernels.test.ts', 'graphs.test.ts', 'step-calls.test.ts'],
    mutants: [
      mutant(
        'place',
        'y and z of a grid are one',
        'setUint32(8, z, true)',
        'setUint32(4, z, true)',
      ),
      mutant('place', 'threads of a block are all along x', '12 + 4 * index', '12'),
    ],
  },
];
