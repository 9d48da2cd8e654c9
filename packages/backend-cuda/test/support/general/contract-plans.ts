/**
 * The plans of the contract of backends, as its checks show them to a backend.
 */
import type { Backend, Plan } from '@lowbit-kv/core';
import { backendChecks } from '@lowbit-kv/core/contract';

export interface NamedPlan {
  readonly name: string;
  readonly plan: Plan;
}

const PREFIX = 'plan: ';

export function contractPlans(): NamedPlan[] {
  const plans = new Set<Plan>();
  const collector: Backend = {
    specVersion: 1,
    id: 'collector',
    probe: async () => ({ ok: true, device: 'none' }),
    supports(plan) {
      plans.add(plan);
      return { kind: 'refused', reasons: ['only looked at'] };
    },
    createStore() {
      throw new Error('refused plans have no store');
    },
  };
  // Each plan has one such check, and they come first and in order.
  const names = backendChecks(collector)
    .map(({ name }) => name)
    .filter((name) => name.startsWith(PREFIX));
  return [...plans]
    .slice(0, names.length)
    .map((plan, i) => ({ name: (names[i] as string).slice(PREFIX.length), plan }));
}
