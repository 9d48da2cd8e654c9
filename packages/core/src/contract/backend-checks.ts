/**
 * What `describeBackend` checks: everything that the backend contract promises, against the reference backend.
 */
import type { Backend, BackendSupport } from '../backend.js';
import type { Plan } from '../plan/plan.js';
import { checkBackend } from '../registry/check-backend.js';
import { allPlans, type ContractPlan, lifeCyclePlans, pointerPlans } from './backend-plans.js';
import { type ContractCheck, check, ensure, ensureEqual } from './check.js';
import { lifeCycle } from './life-cycle.js';
import { limitChecks } from './limits.js';
import { numericCorners } from './numeric-corners.js';
import { pointerData } from './pointer-data.js';
import { type AttentionTolerances, FLOAT64_ATTENTION } from './tolerances.js';
import { createTwin, type Twin } from './twin.js';

export interface BackendContractOptions {
  /** Of attention against the reference backend. Default: float64 sums rounded once to f32. */
  readonly tolerances?: AttentionTolerances;
  /** Reasons that plans may be refused for: a plan that is refused for another one fails. Default: any reason. */
  readonly mayRefuse?: readonly RegExp[];
  /**
   * Programs run on every `of`-th plan, from plan `part` (0 to `of - 1`) on: for devices that compile slowly. What the
   * backend says of plans is checked for all. Default: all.
   */
  readonly share?: { readonly part: number; readonly of: number };
}

/** All checks of a backend. Plans that `supports` refuses give skipped checks with the reasons. */
export function backendChecks(
  backend: Backend,
  options: BackendContractOptions = {},
): ContractCheck[] {
  const tolerances = options.tolerances ?? FLOAT64_ATTENTION;
  const open = (plan: Plan) => createTwin(plan, backend, { tolerances });
  const onPlan = (name: string, plan: Plan, run: (twin: Twin) => Promise<void>): ContractCheck => {
    const support = backend.supports(plan);
    const title = support.kind === 'emulated' ? `${name} (emulated)` : name;
    return check(title, () => withTwin(open(plan), run), refusal(support));
  };
  const plans = allPlans();
  const { part, of } = options.share ?? { part: 0, of: 1 };
  return [
    check('the object satisfies the backend contract', async () => {
      checkBackend(backend);
      const probe = await backend.probe();
      ensure(probe.ok, `the backend cannot start: ${probe.ok ? '' : probe.reason}`);
    }),
    check('executes at least one plan, and names its reasons for every other', async () => {
      checkSupport(backend, plans, options.mayRefuse);
    }),
    ...plans
      .filter((_, i) => i % of === part)
      .map(({ name, plan }) => onPlan(`plan: ${name}`, plan, mixedProgram)),
    ...lifeCyclePlans().map(({ name, plan }) =>
      check(`bytes: ${name}`, () => byteAccounting(backend, plan), refusal(backend.supports(plan))),
    ),
    ...lifeCyclePlans().flatMap(({ name, plan }) =>
      [...lifeCycle, ...numericCorners].map((part) =>
        onPlan(`${part.name}: ${name}`, plan, part.run),
      ),
    ),
    ...limitChecks(backend, { tolerances }),
    ...pointerPlans().map(({ name, plan }) => onPlan(`exact: ${name}`, plan, pointerData)),
  ];
}

async function withTwin(opening: Promise<Twin>, run: (twin: Twin) => Promise<void>): Promise<void> {
  const twin = await opening;
  try {
    await run(twin);
  } finally {
    twin.dispose();
  }
}

function refusal(support: BackendSupport): readonly string[] {
  return support.kind === 'refused' ? support.reasons : [];
}

function checkSupport(
  backend: Backend,
  plans: readonly ContractPlan[],
  mayRefuse: readonly RegExp[] = [/./],
): void {
  let executed = 0;
  for (const { name, plan } of plans) {
    const support = backend.supports(plan);
    ensureEqual(backend.supports(plan), support, `supports() asked twice about ${name}`);
    if (support.kind !== 'refused') executed++;
    if (support.kind === 'native') continue;
    const named = support.reasons.length > 0 && support.reasons.every((text) => /\S/.test(text));
    ensure(named, `${name} is ${support.kind} without a reason`);
    if (support.kind === 'emulated') continue;
    const reason = support.reasons.find((text) => !mayRefuse.some((known) => known.test(text)));
    ensure(reason === undefined, `${name} is refused for what it may not be: ${reason}`);
  }
  ensure(executed > 0, `the backend refuses all ${plans.length} plans of the contract`);
}

/** Long and short sequences, many-token, one-token and empty steps, a fork, a cut and a reordering. */
async function mixedProgram(twin: Twin): Promise<void> {
  const [a, b] = [twin.createPair(), twin.createPair()];
  await twin.attend([a, b], [1, 1]);
  await twin.step([
    { pair: a, tokens: 101 },
    { pair: b, tokens: 7 },
  ]);
  await twin.step([
    { pair: a, tokens: 1 },
    { pair: b, tokens: 30 },
  ]);
  const fork = twin.fork(a);
  await twin.step([
    { pair: a, tokens: 33 },
    { pair: b, tokens: 0 },
    { pair: fork, tokens: 2 },
  ]);
  for (const pair of [a, b, fork]) await twin.compareBlocks(pair);
  const sliding = twin.plan.layers.some(({ geometry }) => geometry.slidingWindow !== null);
  // A sliding window has evicted what a cut would make visible again.
  if (!sliding) twin.truncate(a, 75);
  await twin.attend([a, fork, b], sliding ? [1, 0, 1] : [3, 1, 2]);
  await twin.step([
    { pair: a, tokens: 40 },
    { pair: b, tokens: 3 },
  ]);
  await twin.step([{ pair: a, tokens: 1 }]);
  let blocks = 0;
  for (const pair of [a, b, fork]) blocks += await twin.compareBlocks(pair);
  const packs = twin.plan.classes.some(({ flush }) => flush > 0);
  ensureEqual(blocks > 0, packs, 'whether blocks were packed');
  const [actual, expected] = [await twin.subject.stats(), await twin.reference.stats()];
  ensureEqual(actual.bytes, expected.bytes, 'bytes by part');
}

/** A store allocates exactly the pages it was asked for. */
async function byteAccounting(backend: Backend, plan: Plan): Promise<void> {
  for (const base of [1, 3]) {
    const pages = plan.classes.map((_, i) => ({
      packed: base + i,
      window: base + 2 + i,
      statistics: base,
    }));
    let expected = 0;
    for (const { key, value } of plan.layers) {
      for (const tensor of [key, value]) {
        const counts = pages[tensor.class] as (typeof pages)[number];
        expected +=
          counts.packed * (tensor.layout?.pageBytes ?? 0) +
          counts.window * tensor.windowPageBytes +
          counts.statistics * tensor.statisticsPageBytes;
      }
    }
    const store = await backend.createStore(plan, { pages, nonFinite: 'error' });
    try {
      ensureEqual(store.allocatedBytes, expected, 'allocatedBytes against the sum of the pages');
    } finally {
      store.dispose();
    }
  }
}
