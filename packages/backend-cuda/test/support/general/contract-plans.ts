/**
 * Plans of core's contract suite: those that it asks a backend about.
 */
import { type Plan, referenceBackend } from '@lowbit-kv/core';
import { backendChecks } from '@lowbit-kv/core/contract';

export interface NamedPlan {
  readonly name: string;
  readonly plan: Plan;
}

export function contractPlans(): NamedPlan[] {
  const asked: Plan[] = [];
  const checks = backendChecks({
    ...referenceBackend(),
    supports(plan) {
      asked.push(plan);
      return { kind: 'refused', reasons: ['only the plans are wanted'] };
    },
  });
  // The first two are of no plan; all others ask once each, in order.
  const names = checks.slice(2).map(({ name }) => name);
  if (names.length !== asked.length) throw new Error(`${names.length} checks ask ${asked.length}`);
  const known = new Set<string>();
  return asked.flatMap((plan, i) => {
    if (known.has(plan.fingerprint)) return [];
    known.add(plan.fingerprint);
    return [{ name: names[i] as string, plan }];
  });
}
