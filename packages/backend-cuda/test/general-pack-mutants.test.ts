// General packing kernels with a mistake in them: each must come out different from the reference.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPlan, type TensorScheme } from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  inlineCalibration,
  inlineScheme,
  levelTable,
  symmetric,
  withParameters,
  withTop,
} from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { differencesOf } from './support/general/tensor-appends.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralKernels } from './support/host/general-kernels.js';
import { compiler, kernelFolder } from './support/pack/host-program.js';

interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly mistake: string;
  /** Of keys and values, with 20 channels in a head. */
  readonly tensor: TensorScheme;
  readonly kind?: string;
}

const MEASURED = { scope: 'sequence', statisticsTokens: 7 } as const;

const mutants: readonly Mutant[] = [
  {
    name: 'ties go up',
    file: 'general-stored.cuh',
    text: '(error == -half && odd)',
    mistake: '(error == -half && !odd)',
    tensor: asymmetric(4, 'tokens', 8),
    kind: 'ties',
  },
  {
    name: 'ties of e4m3 scales go up',
    file: 'general-stored.cuh',
    text: '(rest == 0.5 && (units & 1) != 0)',
    mistake: 'rest == 0.5',
    tensor: withParameters(symmetric(4, 'full', 'channels', 10), { scale: 'e4m3' }),
    kind: 'ties',
  },
  {
    name: 'sums from the large subtrees on',
    file: 'general-stored.cuh',
    text: 'for (uint32_t level = 0; level < LEVELS && terms_ >> level != 0; ++level)',
    mistake: 'for (uint32_t level = LEVELS; level-- > 0;)',
    tensor: withParameters(
      levelTable(2, { levels: [-1.5, -0.4, 0.4, 1.5], scaledBy: 'rootMeanSquare' }, 'tokens', 56),
      { scale: 'f32' },
    ),
  },
  {
    name: 'bytes behind the last code',
    file: 'general-codes.cuh',
    text: '(count * tensor.bits + 7) / 8',
    mistake: 'tensor.bits',
    tensor: symmetric(3, 'signmag', 'channels', 20),
  },
  {
    name: 'the last of equal outliers',
    file: 'general-top.cuh',
    text: 'other < channel',
    mistake: 'other > channel',
    tensor: withTop(asymmetric(2, 'channels', 10), 3),
    kind: 'equal magnitudes of both signs',
  },
  {
    name: 'the order of channels the other way round',
    file: 'general-transforms.cuh',
    text: 'others[placeOf(row * tile.dim + channel)] = tile.at(row * tile.dim + from);',
    mistake: 'others[placeOf(row * tile.dim + from)] = tile.at(row * tile.dim + channel);',
    tensor: {
      ...asymmetric(4, 'channels', 10),
      transforms: [{ kind: 'channelOrder', scope: 'model' }],
    },
  },
  {
    name: 'the lower median',
    file: 'general-measure.cuh',
    text: 'place == dim / 2',
    mistake: 'place == dim / 2 - 1',
    tensor: {
      ...asymmetric(4, 'channels', 10),
      transforms: [
        {
          kind: 'channelScale',
          ...MEASURED,
          statistic: 'rootAbsoluteMaximum',
          clamp: [2 ** -6, 2 ** 6],
          minimumSpread: 1.25,
        },
      ],
    },
  },
  {
    name: 'too many outliers unsaid',
    file: 'general-outliers.cuh',
    text: 'takeSmallest(job.fault, job.faultNumber * 65536 + head);',
    mistake: '',
    tensor: bands('midRise', 'head', 2),
  },
  {
    name: 'outliers over those of slots before',
    file: 'general-outliers.cuh',
    text: 'pack.slot == 0 ? 0 : readEnd(tensor, block, firstEntry - 1)',
    mistake: '0',
    tensor: bands('midRise', 'head'),
  },
  {
    name: 'no low code for the low side of a middle band',
    file: 'general-bands.cuh',
    text: 'return code > largest ? largest : code;',
    mistake: 'return code;',
    tensor: bands('uniform', 'allHeads'),
    kind: 'magnitudes far apart',
  },
];

const GEOMETRY = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 20, valueHeadDim: 20 };

/** Differences in a few appends of different data. */
async function differences(
  { kernels }: CompiledKernels,
  { tensor, kind }: Mutant,
): Promise<string[]> {
  const scheme = inlineScheme({ key: tensor, value: tensor });
  const calibration = inlineCalibration(scheme, GEOMETRY);
  const plan = createPlan(scheme, GEOMETRY, {
    blockTokens: 24,
    ...(calibration === undefined ? {} : { calibration }),
  });
  const found: string[] = [];
  for (let seed = 1; seed <= 3; seed++)
    found.push(...(await differencesOf(kernels, plan, [kind ?? 'normal'], 100 * seed)));
  return found;
}

describe.skipIf(compiler === undefined)('mistakes are seen', () => {
  let right: CompiledKernels;

  beforeAll(() => {
    right = buildGeneralKernels();
  });
  afterAll(() => right.remove());

  test.each(mutants)('$name', async (mutant) => {
    expect(await differences(right, mutant)).toEqual([]);
    const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-mutant-'));
    try {
      cpSync(kernelFolder, folder, { recursive: true });
      const path = join(folder, mutant.file);
      const parts = readFileSync(path, 'utf8').split(mutant.text);
      expect(parts).toHaveLength(2);
      writeFileSync(path, parts.join(mutant.mistake));
      const wrong = buildGeneralKernels(folder, ['-O0']);
      try {
        expect(await differences(wrong, mutant)).not.toEqual([]);
      } finally {
        wrong.remove();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
