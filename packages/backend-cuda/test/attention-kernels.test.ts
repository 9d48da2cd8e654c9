// The text of attention kernels, run lane by lane on the host, through the public API against the reference; and what it finds.
import type { LayerPlan, Plan } from '@lowbit-kv/core';
import { createTwin, INTEGER_ATTENTION, type Twin } from '@lowbit-kv/core/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ADVERSARIAL_INPUTS,
  attendAdversarial,
  tolerancesOf,
} from '../scripts/adversarial-inputs.js';
import { hasBands } from '../src/choose-instance.js';
import { ATTENTION_PLANS, attendWith, instancesOf } from './support/attend/attention-plans.js';
import { fakeBackend } from './support/fake-backend.js';
import {
  type AttentionKernels,
  buildAttentionKernels,
  type Mistake,
} from './support/host/attention-kernels.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralKernels } from './support/host/general-kernels.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { compiler } from './support/pack/host-program.js';

/** A card that shares a sequence out to many blocks, and one that does not. */
const WEATHERS = [
  { isBackwards: false, isEager: false, multiprocessors: 132 },
  { isBackwards: true, isEager: true, multiprocessors: 2 },
];
type Weather = (typeof WEATHERS)[number];

const CASES = ATTENTION_PLANS.flatMap(([name, plan]) =>
  WEATHERS.map((weather) => [name, weather, plan] as const),
);

/** Plans, and which inputs: all that there are, those that bands have room for, or one. */
const INPUTS = [
  ['4 bits, groups of 128', undefined],
  ['8 bits over a minimum, head dim 64, sliding window', 'subnormal scales'],
  ['outlier bands, head dim 64', undefined],
].flatMap(([name, only]) => {
  const plan = ATTENTION_PLANS.find(([own]) => own === name)?.[1] as Plan;
  const isBanded = hasBands((plan.layers[0] as LayerPlan).key);
  return ADVERSARIAL_INPUTS.filter(({ isWithinBands }) => isWithinBands || !isBanded)
    .filter((input) => only === undefined || input.name === only)
    .map((input) => [name as string, input.name, plan, input] as const);
});

/** In kernels that a plan takes. */
const MISTAKES: readonly (readonly [what: string, plan: string, mistake: Mistake])[] = [
  [
    'zeros of the first group for all',
    '4 bits, groups of 32, head dim 64, soft cap',
    {
      header: 'keys.cuh',
      text: 'const float term = terms[group];',
      mistake: 'const float term = terms[0];',
    },
  ],
  [
    'what was seen before, at its old weight',
    '4 bits, groups of 128',
    { header: 'values.cuh', text: 'out * kept));', mistake: 'out));' },
  ],
  [
    'values before they have come',
    '4 bits, groups of 128',
    { header: 'decode.cuh', text: '    ring.awaitValue(turn);\n', mistake: '' },
  ],
  [
    'shares of the first query head for all',
    '4 bits, groups of 128',
    { header: 'finish.cuh', text: 'shares + 2 * pair / DIM * splits', mistake: 'shares' },
  ],
  [
    'a token of the rest too many',
    '4 bits, groups of 128',
    { header: 'rest.cuh', text: 'if (first + g >= count)', mistake: 'if (first + g > count)' },
  ],
  [
    'query tokens that do not see themselves',
    '4 bits, groups of 128',
    {
      header: 'rows-rest.cuh',
      text: 'positions[run][i] > limit',
      mistake: 'positions[run][i] >= limit',
    },
  ],
  [
    'lines of outliers of sixteen tokens before',
    'outlier bands, head dim 64',
    { header: 'band-pages.cuh', text: '(isLater ? LATER_LINES : 0)', mistake: '0' },
  ],
  [
    'outliers that are bytes, as if they were words',
    'outlier bands, room for few words, head dim 64',
    { header: 'band-pages.cuh', text: 'if (areBytes) {', mistake: 'if (false) {' },
  ],
  [
    'tiles where ldmatrix does not turn addresses right',
    'outlier bands, head dim 128',
    {
      header: 'bands.cuh',
      text: 'shared + B::TILES + warp',
      mistake: 'shared + B::TILES + 128 + warp',
    },
  ],
];

describe.skipIf(compiler === undefined)('attention kernels, lane by lane', () => {
  let attention: AttentionKernels;
  let host: HostKernels;
  let general: CompiledKernels;

  beforeAll(() => {
    const instances = ATTENTION_PLANS.flatMap(([, { layers }]) =>
      instancesOf(layers[0] as LayerPlan),
    );
    const byName = new Map(instances.map((instance) => [instance.name, instance]));
    attention = buildAttentionKernels([...byName.values()]);
    host = buildHostKernels();
    general = buildGeneralKernels(undefined, ['-O1']);
  }, 240_000);

  afterAll(() => {
    for (const built of [attention, host, general]) built.remove();
  });

  async function run(
    plan: Plan,
    built: AttentionKernels,
    weather: Weather,
    body: (twin: Twin) => Promise<void> = attendWith,
    tolerances = INTEGER_ATTENTION,
  ): Promise<void> {
    const { multiprocessors } = weather;
    built.setWeather(weather);
    const kernels = [...host.kernels, ...general.kernels, ...built.kernels];
    const { backend, fake } = fakeBackend(kernels, undefined, { multiprocessors });
    const twin = await createTwin(plan, backend, { tokens: 2048, tolerances });
    try {
      await body(twin);
    } finally {
      twin.dispose();
      backend.dispose();
    }
    expect(fake.leaks()).toEqual([]);
  }

  it.each(CASES)('%s, %o', { timeout: 120_000 }, async (_, weather, plan) => {
    await run(plan, attention, weather);
  });

  it.each(INPUTS)('%s: %s', { timeout: 120_000 }, async (_name, _what, plan, input) => {
    const tolerances = tolerancesOf(input, plan);
    const body = (twin: Twin) => attendAdversarial(twin, input);
    await run(plan, attention, WEATHERS[0] as Weather, body, tolerances);
  });

  it.each(MISTAKES)('%s: found', { timeout: 120_000 }, async (_, name, mistake) => {
    const plan = ATTENTION_PLANS.find(([own]) => own === name)?.[1] as Plan;
    const wrong = buildAttentionKernels(instancesOf(plan.layers[0] as LayerPlan), mistake);
    try {
      const all = async () => {
        for (const weather of WEATHERS) await run(plan, wrong, weather);
      };
      await expect(all()).rejects.toThrow(/nmse|on the host/);
    } finally {
      wrong.remove();
    }
  });
});
