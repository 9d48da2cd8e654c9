// A benchmark with a clock of the test: what is run, what is counted, and what becomes of what does not fit.
import { readFileSync } from 'node:fs';
import { LowbitKvError, referenceBackend } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import {
  benchCases,
  benchReportSchema,
  caseText,
  formatBench,
  hostDevice,
  runBench,
} from '../src/index.js';
import { scriptedDevice } from './support/bench.js';
import { channelwise } from './support/schemes.js';

const FOUR = channelwise('four', 4);
const ONE = {
  operations: ['pack', 'append', 'attend'],
  batches: [2],
  contexts: [160],
  tokens: [1],
  heads: [{ queryHeads: 4, kvHeads: 2 }],
  headDims: [32],
} as const;
const TOOL = { version: '0.1.0', commit: null };

function run(change: Partial<Parameters<typeof runBench>[0]> = {}) {
  return runBench({
    schemes: [FOUR],
    devices: [scriptedDevice()],
    cases: benchCases(ONE),
    samples: 3,
    warmUpMilliseconds: 0,
    tool: TOOL,
    ...change,
  });
}

it('asks for each case once: prompts of one sequence, appends without a context', () => {
  const cases = benchCases({ ...ONE, batches: [1, 2], contexts: [160, 320], tokens: [1, 4] });
  expect(cases.map(caseText)).toEqual([
    'pack, 1 x 160, 160 new, 4/2 heads of 32',
    'pack, 1 x 320, 320 new, 4/2 heads of 32',
    'append, 1, 1 new, 4/2 heads of 32',
    'append, 1, 4 new, 4/2 heads of 32',
    'append, 2, 1 new, 4/2 heads of 32',
    'append, 2, 4 new, 4/2 heads of 32',
    'attend, 1 x 160, 1 new, 4/2 heads of 32',
    'attend, 1 x 320, 1 new, 4/2 heads of 32',
    'attend, 1 x 160, 4 new, 4/2 heads of 32',
    'attend, 1 x 320, 4 new, 4/2 heads of 32',
    'attend, 2 x 160, 1 new, 4/2 heads of 32',
    'attend, 2 x 320, 1 new, 4/2 heads of 32',
    'attend, 2 x 160, 4 new, 4/2 heads of 32',
    'attend, 2 x 320, 4 new, 4/2 heads of 32',
  ]);
  expect(benchCases({ ...ONE, operations: ['append'] }).map(({ operation }) => operation)).toEqual([
    'append',
  ]);
});

it('times every case of f16 and the schemes, and gives what its schema says', async () => {
  const device = scriptedDevice();
  const report = await run({ devices: [device], schemes: [FOUR, channelwise('two', 2)] });
  expect(benchReportSchema.parse(structuredClone(report))).toEqual(report);
  expect(
    report.rows.map(({ scheme, operation, status }) => `${scheme} ${operation} ${status}`),
  ).toEqual(
    ['pack', 'append', 'attend'].flatMap((operation) =>
      ['f16', 'four', 'two'].map((scheme) => `${scheme} ${operation} measured`),
    ),
  );
  expect(report.backends).toMatchObject([
    { id: 'reference', device: 'a card', driver: 'driver 1', clock: 'host' },
  ]);
  expect(report.backends[0]?.clocks?.before).toBe('0 MHz');
  expect(report.backends[0]?.clocks?.after).toBe(`${device.asked.length} MHz`);
  // 256 MB read and written in a millisecond.
  expect(report.backends[0]?.copy.bytesPerSecond).toBeCloseTo(512e9, -3);
});

it('counts what a layer reads and writes, and divides by its time', async () => {
  const { rows, backends } = await run();
  const [packF16, packFour, appendF16, appendFour, attendF16, attendFour] = rows;
  const row = 2 * 2 * 32; // elements of keys and values of one token
  expect(packF16).toMatchObject({ bytes: 160 * row * (2 + 2), layers: 1 });
  // 160 keys are packed (32 at once), values but the last 16; 4 bits and 1 bit of parameters an element.
  const packed = (160 + 144) * 64;
  expect(packFour).toMatchObject({ bytes: 160 * row * 2 + (packed * 5) / 8 + 16 * 64 * 2 });
  expect(appendF16).toMatchObject({ bytes: 2 * row * (2 + 2), layers: 3 });
  // In, written and read while they wait, and packed.
  expect(appendFour).toMatchObject({ bytes: 2 * row * (2 + 4 + 5 / 8) });
  // 160 - 29 and 160 - 41 tokens, two queries of 4 heads in f16, outputs in f32.
  expect(attendF16).toMatchObject({ bytes: (131 + 119) * row * 2 + 2 * 4 * 32 * (2 + 4) });
  if (attendFour?.status !== 'measured') throw new Error('not measured');
  expect(attendFour.microseconds).toMatchObject({ samples: 3, median: 11, minimum: 10 });
  expect(attendFour.bytesPerSecond).toBeCloseTo(attendFour.bytes / 11e-6, 0);
  const copy = backends[0]?.copy.bytesPerSecond as number;
  expect(attendFour.shareOfCopy).toBeCloseTo(attendFour.bytesPerSecond / copy, 12);
});

it('attends over layers that hold four times the last-level cache', async () => {
  const device = scriptedDevice();
  const { rows } = await run({
    devices: [device],
    cases: benchCases({ ...ONE, operations: ['attend'] }),
  });
  const held = 250 * 128 * 2;
  expect(device.asked).toContain(`${Math.ceil(160_000 / held)} layers, 2,4,32, values`);
  for (const row of rows)
    if (row.status === 'measured') expect(row.rotatedBytes).toBeGreaterThan(160_000);
});

it('a sample of appends holds a whole number of flushes, and is the mean of its steps and layers', async () => {
  const device = scriptedDevice();
  const cases = benchCases({ ...ONE, operations: ['append'] });
  const { rows } = await run({ devices: [device], cases });
  // f16 packs nothing: four samples of one step; four packs 32 keys at once: four samples of 32 steps.
  expect(device.asked.filter((what) => what === 'once')).toHaveLength(4 + 4 * 32);
  const [f16, four] = rows;
  if (f16?.status !== 'measured' || four?.status !== 'measured') throw new Error('not measured');
  // The clock says 1, 2, 3, ...: the first sample of each is for warming up.
  expect(f16.microseconds).toMatchObject({ minimum: 2 / 3, median: 1 });
  expect(four.microseconds.minimum).toBe((37 + 68) / 2 / 3);
});

it('several new tokens of a sequence attend together', async () => {
  const device = scriptedDevice();
  await run({
    devices: [device],
    cases: benchCases({ ...ONE, operations: ['attend'], tokens: [3] }),
  });
  expect(device.asked.some((what) => what.endsWith('layers, 6,4,32, values'))).toBe(true);
});

it('what cannot be planned, executed or finished is a row with its reason', async () => {
  const odd = {
    ...FOUR,
    id: 'odd',
    value: { ...FOUR.value, groups: { along: 'channels', size: 24 } },
  };
  const refusing = scriptedDevice();
  const device = {
    ...refusing,
    backend: {
      ...refusing.backend,
      supports: () => ({ kind: 'refused' as const, reasons: ['no kernel'] }),
    },
  };
  const planned = await run({ schemes: [odd as typeof FOUR] });
  expect(planned.rows[1]).toMatchObject({
    scheme: 'odd',
    status: 'refused',
    code: 'SHAPE_UNSUPPORTED',
  });
  const executed = await run({ devices: [device] });
  expect(executed.rows.every(({ status }) => status === 'refused')).toBe(true);
  const failing = scriptedDevice();
  const failed = await run({
    devices: [
      {
        ...failing,
        once: () =>
          Promise.reject(
            new LowbitKvError('DEVICE_OUT_OF_MEMORY', {
              message: 'too little',
              next: 'Ask for less.',
            }),
          ),
      },
    ],
  });
  expect(failed.rows.map(({ status }) => status)).toEqual([
    ...['failed', 'failed', 'failed', 'failed', 'measured', 'measured'],
  ]);
  expect(failed.rows[0]).toMatchObject({
    code: 'DEVICE_OUT_OF_MEMORY',
    reason: 'too little. Ask for less.',
  });
});

it('stops with the reason of its signal, between two samples too', async () => {
  const controller = new AbortController();
  const seen: string[] = [];
  const work = run({
    signal: controller.signal,
    onProgress: ({ row, rows, scheme }) => {
      seen.push(`${row}/${rows} ${scheme}`);
      if (row === 3) controller.abort(new Error('enough'));
    },
  });
  await expect(work).rejects.toThrow('enough');
  expect(seen).toEqual(['0/6 f16', '1/6 four', '2/6 f16', '3/6 four']);
});

it('the host clock of the reference gives a time for everything', async () => {
  const device = hostDevice(referenceBackend(), { lastLevelCacheBytes: null });
  const cases = benchCases({ ...ONE, contexts: [64], batches: [1] });
  const { rows, backends } = await run({ devices: [device], cases, samples: 2 });
  expect(backends[0]).toMatchObject({ device: 'TypeScript, float64 attention', clock: 'host' });
  for (const row of rows) {
    if (row.status !== 'measured') throw new Error(row.reason);
    expect(row.microseconds.median).toBeGreaterThan(0);
    expect(row.microseconds.samples).toBe(2);
  }
});

it('the program of the document runs', async () => {
  const text = readFileSync(new URL('../docs/benchmarks.md', import.meta.url), 'utf8');
  const block = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  const said: string[] = [];
  const names = { referenceBackend, benchCases, formatBench, hostDevice, runBench };
  const program = new Function(
    ...[...Object.keys(names), 'schemes', 'console'],
    `return (async () => { ${block.replace(/^import .*$/gm, '')} })()`,
  );
  await program(...Object.values(names), [FOUR], { log: (line: string) => said.push(line) });
  expect(said.join()).toMatch(/^four .* 1024 /m);
});
