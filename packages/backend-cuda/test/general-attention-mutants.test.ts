// General attention with a mistake in it: each must come out different from the reference, so the comparison sees such mistakes.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F32_ATTENTION } from '@lowbit-kv/core/contract';
import { maxAbsDifference, nmse } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawsOf } from './support/attend/random-views.js';
import { type AttendCase, attendCase, type CaseOptions } from './support/general/attend-case.js';
import { launch } from './support/general/attend-launch.js';
import { attendPlans, MANY_SPLITS } from './support/general/attend-plans.js';
import { contractPlans } from './support/general/contract-plans.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralAttention } from './support/host/general-kernels.js';
import { compiler, kernelFolder } from './support/pack/host-program.js';

interface Mutant {
  readonly name: string;
  /** kernels/general-*.cuh. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly mistake: string;
  readonly plan: string;
  readonly options?: CaseOptions;
  readonly seeds?: readonly number[];
}

const mutants: readonly Mutant[] = [
  {
    name: 'codes end with their word',
    file: 'decode',
    text: 'if (shift + width > 32)',
    mistake: 'if (shift + width > 40)',
    plan: 'plan: asymmetric 3 bit along tokens',
  },
  {
    name: 'all groups of hybrid tensors are symmetric',
    file: 'decode',
    text: 'if ((bits & sign) != 0) isSigned',
    mistake: 'if (sign == 0) isSigned',
    plan: 'plan: hybrid full 4 bit along channels',
  },
  {
    name: 'runs that begin inside of a group',
    file: 'decode',
    text: 'tile.isRun && tile.places[0].slot % STRIP == 0',
    mistake: 'tile.isRun',
    plan: 'plan: symmetric full 4 bit along tokens',
  },
  {
    name: 'transforms are undone in their order',
    file: 'rows',
    text: 'for (uint32_t i = tensor.transformCount; i-- > 0;)',
    mistake: 'for (uint32_t i = 0; i < tensor.transformCount; ++i)',
    plan: 'plan: chains of transforms',
  },
  {
    name: 'means come back whole',
    file: 'rows',
    text: 'weights == nullptr ? 1.0f : weights[row]',
    mistake: 'weights == nullptr ? 1.0f : 1.0f',
    plan: 'plan: channel means of values',
  },
  {
    name: 'packed keys miss their mean',
    file: 'products',
    text: 'meetsTurned(token) ? memory.at(plan.added)[query] : 0.0f',
    mistake: '0.0f',
    plan: 'plan: channel scales of values, means of one token',
  },
  {
    name: 'a turn is read in the wrong quarter',
    file: 'rows',
    text: 'if ((quarter & 2) != 0) sine = -sine;',
    mistake: '',
    plan: 'keys that turn',
  },
  {
    name: 'sums of before keep their size',
    file: 'products',
    text: 'sums[h].lanes[j] *= decay;',
    mistake: 'sums[h].lanes[j] *= 1.0f;',
    plan: 'plan: nothing packed',
  },
  {
    name: 'the last block but one joins',
    file: 'attend',
    text: 'splits * headBlocks - 1',
    mistake: 'splits * headBlocks - 2',
    plan: '71 query heads on one',
  },
  {
    name: 'later splits are those of before',
    file: 'join',
    text: 'partials.output(first + split, firstQuery + query)',
    mistake: 'partials.output(split, firstQuery + query)',
    plan: 'keys that turn',
    options: MANY_SPLITS,
    seeds: [3],
  },
];

const QUICK = ['-O0'];

describe.skipIf(compiler === undefined)('mistakes are seen', () => {
  const plans = new Map(
    [...contractPlans(), ...attendPlans()].map(({ name, plan }) => [name, plan]),
  );
  let right: CompiledKernels;
  beforeAll(() => {
    right = buildGeneralAttention(kernelFolder, QUICK);
  }, 60_000);
  afterAll(() => right.remove());

  it.each(mutants)('$name', async (mutant) => {
    const plan = plans.get(mutant.plan);
    if (plan === undefined) throw new Error(`no plan is called ${mutant.plan}`);
    const cases: AttendCase[] = [];
    for (const seed of mutant.seeds ?? [1, 2])
      cases.push(await attendCase(plan, 0, drawsOf(seed), mutant.options));
    expect(await areRight(cases, right)).toBe(true);
    const wrong = buildMutant(mutant);
    try {
      expect(await areRight(cases, wrong)).toBe(false);
    } finally {
      wrong.remove();
    }
  });
});

async function areRight(cases: readonly AttendCase[], host: CompiledKernels): Promise<boolean> {
  const { output, logSumExp } = F32_ATTENTION;
  for (const attended of cases) {
    const { expected } = attended;
    const actual = await launch(host, attended);
    const isClose =
      nmse(actual.output, expected.output) <= output.value &&
      maxAbsDifference(actual.logSumExp, expected.logSumExp) <= logSumExp.value;
    if (!isClose || !actual.isSettled) return false;
  }
  return true;
}

function buildMutant({ file, text, mistake }: Mutant): CompiledKernels {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-mutant-'));
  try {
    cpSync(kernelFolder, folder, { recursive: true });
    const path = join(folder, `general-${file}.cuh`);
    const source = readFileSync(path, 'utf8');
    expect(source.split(text)).toHaveLength(2);
    writeFileSync(
      path,
      source.replace(text, () => mistake),
    );
    return buildGeneralAttention(folder, QUICK);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
