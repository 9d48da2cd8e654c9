// Every mode runs, ends at its count, and fails for what it is there to find.
import { type Backend, referenceBackend } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import type { OpenedBackend } from '../src/backends.js';
import { type MODES, parseOptions } from '../src/options.js';
import { soak } from '../src/soak.js';

const opened =
  (backend: Backend, left: readonly string[] = []) =>
  async (): Promise<OpenedBackend> => ({
    backend,
    counts: () => ({}),
    close: () => left,
  });
const optionsOf = (mode: (typeof MODES)[number], operations: number) =>
  parseOptions([
    '--backend',
    'reference',
    '--mode',
    mode,
    '--operations',
    `${operations}`,
    '--seed',
    '5',
  ]);

it.each([
  ['programs', 60],
  ['faults', 60],
  ['churn', 400],
] as const)('%s', async (mode, operations) => {
  const result = await soak(opened(referenceBackend()), optionsOf(mode, operations));
  expect(result.operations).toBeGreaterThanOrEqual(operations);
  expect(result.samples.at(-1)?.operations).toBeGreaterThanOrEqual(operations);
  expect(result.faults).toEqual([]);
});

it('what a backend leaves is a fault', async () => {
  const result = await soak(opened(referenceBackend(), ['a buffer']), optionsOf('churn', 8));
  expect(result.faults).toEqual(['left: a buffer']);
});

it('a backend that answers wrongly ends it', async () => {
  const reference = referenceBackend();
  const wrong: Backend = {
    ...reference,
    createStore: async (plan, options) => {
      const store = await reference.createStore(plan, options);
      store.writePages = async () => undefined;
      return store;
    },
  };
  const run = soak(opened(wrong), { ...optionsOf('programs', 2000), longest: 10 });
  await expect(run).rejects.toThrow(/snapshot|differ|element/);
});

it('options that cannot be', () => {
  for (const args of [
    [],
    ['--backend', 'tpu'],
    ['--backend', 'onnx', '--operations', 'many'],
    ['--backend', 'onnx', '--mode', 'x'],
  ])
    expect(() => parseOptions(args)).toThrow(/pnpm soak --backend NAME/);
});
