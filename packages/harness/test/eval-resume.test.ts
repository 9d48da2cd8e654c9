/** Interrupted evaluations go on where they were, with the very same figures; records that do not belong are not used. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Calibration, schemeFingerprint } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type EvalReport,
  type EvaluateOptions,
  evaluate,
  fileStore,
  type PartStore,
} from '../src/index.js';
import { evalRow, FOUR, fakeOptions, TWO } from './support/fake-evaluation.js';
import { type FakeModelOptions, fakeModel, fakeTokens } from './support/fake-model.js';
import { bandScheme } from './support/schemes.js';
import { temporaryFolder } from './support/temporary-folder.js';

/** A store in memory. */
function memoryStore(): PartStore & { readonly records: Map<string, Uint8Array> } {
  const records = new Map<string, Uint8Array>();
  return {
    records,
    get: async (key) => records.get(key) ?? null,
    put: async (key, bytes) => void records.set(key, bytes),
  };
}

const retrieval = {
  encode: (text: string) => Array.from(text, (c) => (c.codePointAt(0) as number) % 50),
  contexts: [400],
  depths: [0, 100],
};

interface Counted {
  readonly report: EvalReport;
  /** Runs of the model, by id. */
  readonly runs: string[];
}

async function counted(
  store: PartStore,
  more: Partial<EvaluateOptions> = {},
  model: FakeModelOptions = {},
): Promise<Counted> {
  const runs: string[] = [];
  const fake = fakeModel({
    ...model,
    onRun(plan, tokens) {
      model.onRun?.(plan, tokens);
      runs.push(plan?.scheme.id ?? 'uncut');
    },
  });
  return { report: await evaluate(fakeOptions(fake, { store, retrieval, ...more })), runs };
}

/** Without what depends on time and on what was kept. */
function figures(report: EvalReport) {
  const timeless = { seconds: null, tokensPerSecond: null };
  return {
    ...report,
    uncut: timeless,
    resumed: null,
    schemes: report.schemes.map((row) => ('rate' in row ? { ...row, rate: timeless } : row)),
  };
}

const stopped = new Error('stopped by the test');

/** Stops a run in the middle of the given run of the model. */
async function interrupted(store: PartStore, id: string, time: number): Promise<void> {
  const controller = new AbortController();
  let times = 0;
  const work = counted(
    store,
    { signal: controller.signal },
    {
      change(_, { plan, row }) {
        if ((plan?.scheme.id ?? 'uncut') === id && row === 40 && times++ === time)
          controller.abort(stopped);
      },
    },
  );
  await expect(work).rejects.toBe(stopped);
}

const { report: whole } = await counted(memoryStore());
const none = { windows: 0, prompts: 0 };

describe('an interrupted run', () => {
  it.each([
    ['in the first baseline', 'f16', 0, []],
    ['in the second window', 'two', 1, ['f16', 'four', 'two']],
    ['in the uncut model of the last', 'uncut', 2, ['f16', 'four', 'two']],
    // Prompts follow the 3 windows.
    ['in the retrieval', 'four', 3, ['f16', 'four', 'two']],
  ])('%s resumes to the same report', async (_, id, time, resumed) => {
    const store = memoryStore();
    await interrupted(store, id, time);
    const { report, runs } = await counted(store);
    expect(figures(report)).toEqual(figures(whole));
    expect(report.resumed.rows.map((row) => row.id)).toEqual(resumed);
    expect(runs.length).toBeLessThanOrEqual(12 + 7);
    if (resumed.length > 0) expect(runs.length).toBeLessThan(12 + 7 - 3);
  });

  it('in the second window keeps the scheme that was done with it', async () => {
    const store = memoryStore();
    await interrupted(store, 'two', 1);
    const { report, runs } = await counted(store);
    // f16 runs again for its logits; so do rates of the uncut model.
    expect(runs.slice(0, 4)).toEqual(['uncut', 'f16', 'two', 'uncut']);
    expect(report.resumed.rows).toEqual([
      { ...none, id: 'f16', windows: 1 },
      { ...none, id: 'four', windows: 2 },
      { ...none, id: 'two', windows: 1 },
    ]);
    expect(report.resumed.damaged).toEqual([]);
  });

  it('stops before anything runs when the signal has fired', async () => {
    const runs: string[] = [];
    const model = fakeModel({ onRun: (plan) => runs.push(plan?.scheme.id ?? 'uncut') });
    const signal = AbortSignal.abort(stopped);
    await expect(evaluate(fakeOptions(model, { signal }))).rejects.toBe(stopped);
    expect(runs).toEqual([]);
  });

  it('keeps nothing that failed its checks', async () => {
    const store = memoryStore();
    const broken = counted(store, {}, { change: (logits) => void logits.fill(0) });
    await expect(broken).rejects.toThrow('logits-not-constant');
    expect(store.records.size).toBe(0);
  });
});

describe('a finished run', () => {
  it('runs nothing again, and keeps its seconds and their ratio', async () => {
    const store = memoryStore();
    let clock = 0;
    const now = () => clock;
    const slow = (plan: unknown) => {
      clock += plan === null ? 1000 : 4000;
    };
    const first = await counted(store, { now }, { onRun: slow });
    const progress: (readonly [number, number | null])[] = [];
    const second = await counted(store, {
      onProgress: ({ tokensDone, tokensTotal, secondsLeft }) =>
        progress.push([tokensDone / tokensTotal, secondsLeft]),
    });
    expect(second.runs).toEqual([]);
    expect({ ...second.report, resumed: null }).toEqual({ ...first.report, resumed: null });
    expect(evalRow(second.report, 'four').rate).toMatchObject({ seconds: 12, percentOfUncut: 25 });
    expect(second.report.resumed.rows).toEqual([
      { id: 'f16', windows: 3, prompts: 3 },
      { id: 'four', windows: 3, prompts: 2 },
      { id: 'two', windows: 3, prompts: 2 },
    ]);
    expect(progress.at(-1)).toEqual([1, null]);
  });

  it('keeps whether the model tells keys from values', async () => {
    const store = memoryStore();
    const silent: FakeModelOptions = {
      notes: ({ layers, ...notes }) => ({
        ...notes,
        layers: layers.map(({ causes, ...layer }) => layer),
      }),
    };
    const { report } = await counted(store, {}, silent);
    const { report: again, runs } = await counted(store, {}, silent);
    expect(runs).toEqual([]);
    expect(figures(again)).toEqual(figures(report));
    expect(evalRow(again, 'two').failingLayers[0]?.source).toBeNull();
    expect(evalRow(whole, 'two').failingLayers[0]?.source).not.toBeNull();
  });

  it('takes one more scheme, whose rate is against the uncut model of its own run', async () => {
    const store = memoryStore();
    let clock = 0;
    const now = () => clock;
    // The machine is half as fast the second time.
    const run = (schemes: EvaluateOptions['schemes'], factor: number) =>
      counted(
        store,
        { schemes, now },
        {
          onRun: (plan) => {
            clock += factor * (plan === null ? 1000 : 2000);
          },
        },
      );
    await run([FOUR], 1);
    const { report, runs } = await run([FOUR, TWO], 2);
    expect(runs.filter((id) => id === 'four')).toEqual([]);
    expect(evalRow(report, 'four').rate).toMatchObject({ seconds: 6, percentOfUncut: 50 });
    expect(evalRow(report, 'two').rate).toMatchObject({ seconds: 12, percentOfUncut: 50 });
    expect(figures(report)).toEqual(figures(whole));
  });

  it('asks a scheme that refuses once more, and for that needs no baseline', async () => {
    const store = memoryStore();
    const schemes = [FOUR, bandScheme('bands')];
    await counted(store, { schemes });
    expect((await counted(store, { schemes })).runs).toEqual([]);
  });
});

describe('a record', () => {
  /** Runs after a finished one with something changed. */
  async function again(more: Partial<EvaluateOptions>, model: FakeModelOptions = {}) {
    const store = memoryStore();
    await counted(store);
    return (await counted(store, more, model)).runs;
  }

  it('belongs to its settings', async () => {
    expect(await again({ settings: { stress: 'key-scale:16' } })).toHaveLength(12 + 7);
  });

  it('belongs to its tokens: a window that stayed is not run again', async () => {
    const tokens = fakeTokens(300);
    tokens[100] = ((tokens[100] as number) + 1) % 50;
    const runs = await again({ text: { name: 'text', sha256: '', tokens } });
    expect(runs).toEqual(['uncut', 'f16', 'four', 'two']);
  });

  it('belongs to the length of its window', async () => {
    expect(await again({ windowTokens: 60 })).toHaveLength(12);
  });

  it('belongs to the model', async () => {
    const store = memoryStore();
    await counted(store);
    const other = { ...fakeModel(), fingerprint: 'e'.repeat(64) };
    const report = await evaluate(fakeOptions(other, { store }));
    expect(report.resumed.rows).toEqual([]);
  });

  it('belongs to the calibration', async () => {
    const store = memoryStore();
    const bands = bandScheme('bands');
    const run = (outerHigh: number) => {
      const thresholds = { outerLow: -2, outerHigh, innerLow: -0.125, innerHigh: 0.125 };
      const layers = [1, 2].map(() => ({ key: { thresholds }, value: { thresholds } }));
      const calibration: Calibration = {
        specVersion: 1,
        scheme: schemeFingerprint(bands),
        provenance: { text: 'other' },
        layers,
      };
      return counted(store, { schemes: [bands], calibrations: { bands: calibration } });
    };
    const { report } = await run(2);
    expect(evalRow(report, 'bands').calibration).toBe('text other');
    expect((await run(2)).runs).toEqual([]);
    expect((await run(3)).runs).toContain('bands');
  });

  const damages: [string, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
    ['cut short', (bytes) => bytes.subarray(0, bytes.length - 8), /checksum/],
    ['empty', () => new Uint8Array(), /checksum/],
    [
      'changed in one bit',
      (bytes) => bytes.map((byte, i) => (i === 35 ? byte ^ 1 : byte)),
      /checksum/,
    ],
    ['all zero', (bytes) => new Uint8Array(bytes.length), /checksum/],
  ];
  it.each(damages)('that is %s is measured again and counted', async (_, damage, reason) => {
    const store = memoryStore();
    await counted(store);
    const [key, bytes] = [...store.records].at(-1) as [string, Uint8Array];
    for (const [name, record] of [...store.records]) store.records.set(name, damage(record));
    const { report } = await counted(store);
    expect(figures(report)).toEqual(figures(whole));
    expect(report.resumed.rows).toEqual([]);
    expect(report.resumed.damaged.length).toBeGreaterThan(8);
    expect(report.resumed.damaged.map((damaged) => damaged.key)).toContain(key);
    expect(report.resumed.damaged[0]?.reason).toMatch(reason);
    expect(store.records.get(key)).toEqual(bytes);
    expect((await counted(store)).runs).toEqual([]);
  });

  it('under the name of another is damaged', async () => {
    const store = memoryStore();
    await counted(store);
    const [first, second] = [...store.records.keys()] as [string, string];
    store.records.set(second, store.records.get(first) as Uint8Array);
    const { report } = await counted(store);
    expect(report.resumed.damaged).toEqual([{ key: second, reason: 'the checksum is wrong' }]);
    expect(figures(report)).toEqual(figures(whole));
  });
});

describe('a folder of records', () => {
  const folder = temporaryFolder();

  it('holds whole records only, and is made when needed', async () => {
    const directory = join(folder, 'a', 'b');
    const { report } = await counted(fileStore(directory));
    expect(figures(report)).toEqual(figures(whole));
    const names = await readdir(directory);
    // 3 windows of 3 rows, 3 prompts for f16 and 2 for each scheme.
    expect(names).toHaveLength(9 + 7);
    expect(names.every((name) => /^[0-9a-f]{64}\.part$/.test(name))).toBe(true);
    expect((await counted(fileStore(directory))).runs).toEqual([]);
  });

  it('may be written by two runs at once', async () => {
    const directory = join(folder, 'two');
    const both = await Promise.all([1, 2].map(() => counted(fileStore(directory))));
    for (const { report } of both) {
      expect(figures(report)).toEqual(figures(whole));
      expect(report.resumed.damaged).toEqual([]);
    }
    expect(await readdir(directory)).toHaveLength(9 + 7);
    expect((await counted(fileStore(directory))).runs).toEqual([]);
  });

  it('survives many writers of one record', async () => {
    const store = fileStore(join(folder, 'many'));
    const payloads = Array.from({ length: 20 }, (_, i) => new Uint8Array(10_000).fill(i));
    await Promise.all(payloads.map((bytes) => store.put('key', bytes)));
    const kept = await store.get('key');
    expect(kept).toHaveLength(10_000);
    expect(new Set(kept).size).toBe(1);
    expect(await readdir(join(folder, 'many'))).toEqual(['key.part']);
  });

  it('passes errors of the file system on, and leaves nothing behind', async () => {
    const directory = join(folder, 'blocked');
    await mkdir(join(directory, 'key.part'), { recursive: true });
    const store = fileStore(directory);
    await expect(store.put('key', new Uint8Array(3))).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/);
    await expect(store.get('key')).rejects.toThrow(/EISDIR/);
    expect(await readdir(directory)).toEqual(['key.part']);
    expect(await store.get('other')).toBeNull();
  });

  it('does not mind a file that a broken copy left', async () => {
    const directory = join(folder, 'copied');
    await counted(fileStore(directory));
    const [name] = (await readdir(directory)) as [string];
    const bytes = await readFile(join(directory, name));
    await writeFile(join(directory, 'short'), bytes.subarray(0, 50));
    await rename(join(directory, 'short'), join(directory, name));
    const { report } = await counted(fileStore(directory));
    expect(report.resumed.damaged).toHaveLength(1);
    expect(figures(report)).toEqual(figures(whole));
  });
});
