/**
 * The command line of `pnpm soak`.
 */
import { parseArgs } from 'node:util';
import { BACKENDS, type BackendName } from './backends.js';

export const USAGE = `pnpm soak --backend NAME [--operations N] [--mode MODE] [--seed S] [--minutes M] [--longest L] [--out FILE]

  --backend     ${Object.keys(BACKENDS).join(', ')}
  --mode        programs: random programs against the model (default)
                faults: the same, with a fault at some call of each
                churn: appends and attends over churning sequences of one cache
                processes: snapshots restored in another process
  --operations  default 10000
  --seed        default: the time; printed
  --minutes     ends earlier after so long
  --longest     operations of the longest program, default 30
  --plans       different plans, where each is compiled for long; default: a new one for every program
  --out         a CSV file of memory and handles over time`;

export const MODES = ['programs', 'faults', 'churn', 'processes'] as const;

export interface SoakOptions {
  readonly backend: BackendName;
  readonly mode: (typeof MODES)[number];
  readonly operations: number;
  readonly seed: number;
  readonly minutes: number;
  readonly longest: number;
  readonly plans: number;
  readonly out: string | undefined;
}

/** Throws an Error with the usage for what it does not understand. */
export function parseOptions(args: readonly string[]): SoakOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      backend: text,
      mode: text,
      operations: text,
      seed: text,
      minutes: text,
      longest: text,
      plans: text,
      out: text,
    },
  });
  const number = (
    name: 'operations' | 'seed' | 'minutes' | 'longest' | 'plans',
    fallback: number,
  ) => {
    const value = values[name] === undefined ? fallback : Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} ${values[name]} is no positive number\n${USAGE}`);
    return value;
  };
  const among = <T extends string>(name: string, value: string | undefined, list: readonly T[]) => {
    const found = list.find((known) => known === value);
    if (found === undefined)
      throw new Error(`--${name} ${value ?? 'is missing'}; valid: ${list.join(', ')}\n${USAGE}`);
    return found;
  };
  return {
    backend: among('backend', values.backend, Object.keys(BACKENDS) as BackendName[]),
    mode: among('mode', values.mode ?? 'programs', MODES),
    operations: number('operations', 10_000),
    seed: Math.floor(number('seed', Date.now() % 2 ** 31)),
    minutes: number('minutes', Number.POSITIVE_INFINITY),
    longest: number('longest', 30),
    plans: number('plans', Number.POSITIVE_INFINITY),
    out: values.out,
  };
}
