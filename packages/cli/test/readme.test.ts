// The README of the repository: its program runs, and the table it shows is of today's presets.
import { readFileSync } from 'node:fs';
import * as core from '@lowbit-kv/core';
import { presets as innerq } from '@lowbit-kv/scheme-innerq';
import { kivi, presets as kiviPresets } from '@lowbit-kv/scheme-kivi';
import { presets as oaken } from '@lowbit-kv/scheme-oaken';
import { expect, test } from 'vitest';
import { quietProgram } from './support/quiet-program.js';

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

test('the program in the README runs and leaves one token in the cache', async () => {
  const block = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const program = block.replace(/^import .*$/gm, '');
  expect(program).toContain('step.attend');
  const ones = (length: number) =>
    Array.from({ length: 32 }, () => new Uint16Array(length).fill(0x3c00));
  const queries = Array.from({ length: 32 }, () => new Float32Array(32 * 128));
  const run = new Function(
    ...['createLowbitKv', 'f16Tensor', 'f32Tensor', 'kivi', 'k', 'v', 'q'],
    `return (async () => { ${program}; return { sequence, step }; })()`,
  );
  const { createLowbitKv, f16Tensor, f32Tensor } = core;
  const outputs: core.HostTensor[] = [];
  const watched = (...args: Parameters<typeof createLowbitKv>) => {
    const kv = createLowbitKv(...args);
    const backend = kv.backends.get('reference');
    const createStore = backend.createStore.bind(backend);
    backend.createStore = async (plan, options) => {
      const store = await createStore(plan, options);
      const attend = store.attend.bind(store);
      store.attend = (job) => {
        const result = attend(job);
        outputs.push(result.output as core.HostTensor);
        return result;
      };
      return store;
    };
    return kv;
  };
  const given = [f16Tensor, f32Tensor, kivi, ones(8 * 128), ones(8 * 128), queries];
  const { sequence } = await run(watched, ...given);
  expect(sequence.length).toBe(1);
  expect(outputs).toHaveLength(32);
  // Every value is 1, so every output is.
  for (const { data } of outputs) expect(data.every((x) => x === 1)).toBe(true);
});

test('the table in the README has a row for f16 and every preset', () => {
  const table = readme.slice(readme.indexOf('Accuracy\n'), readme.indexOf('Size: bits'));
  const ids = ['f16', ...[...kiviPresets, ...innerq, ...oaken].map(({ id }) => id)];
  const rows = table.split('\n').map((line) => line.split(' ')[0]);
  expect(rows.slice(3, 3 + ids.length)).toEqual(ids);
});

test('the table of packages names every command', () => {
  const row = readme.split('\n').find((line) => line.startsWith('| [`lowbit-kv`]')) ?? '';
  const named = [...row.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name).slice(1);
  expect(named.sort()).toEqual(
    quietProgram()
      .commands.map((command) => command.name())
      .sort(),
  );
});
