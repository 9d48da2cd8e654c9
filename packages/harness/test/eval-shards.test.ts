// Evaluations in shards: measured apart, put together, refused where they do not belong together.
import { join } from 'node:path';
import { type Calibration, LowbitKvError, schemeFingerprint } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type EvalReport,
  type EvaluatedModel,
  type EvaluateOptions,
  evalReportSchema,
  evalShardSchemes,
  evaluate,
  evaluateShard,
  fileStore,
  mergeShards,
  type ShardFile,
  type ShardPart,
} from '../src/index.js';
import { refusal } from './support/failures.js';
import { FOUR, fakeOptions, TWO } from './support/fake-evaluation.js';
import { type FakeModelOptions, fakeModel } from './support/fake-model.js';
import { bandScheme, channelwise } from './support/schemes.js';
import { CONTEXT, merged, shardFiles } from './support/shards.js';
import { temporaryFolder } from './support/temporary-folder.js';

const folder = temporaryFolder();
const retrieval = {
  encode: (text: string) => Array.from(text, (c) => (c.codePointAt(0) as number) % 50),
  contexts: [400],
  depths: [0, 100],
};
/** Refused: it was given no calibration. */
const BANDS = bandScheme('bands');
const EIGHT = channelwise('eight', 8);
const SETTINGS = { mode: 'fake', machine: 'a fast one' };

interface Given {
  readonly options?: Partial<EvaluateOptions>;
  /** No retrieval: windows alone. */
  readonly windowsOnly?: boolean;
  readonly model?: FakeModelOptions;
}

function optionsOf({ options, windowsOnly, model }: Given): EvaluateOptions {
  return fakeOptions(fakeModel(model), {
    schemes: [FOUR, BANDS, TWO, EIGHT],
    settings: SETTINGS,
    ...(windowsOnly !== true && { retrieval }),
    ...options,
  });
}

/** Without times, and what tells how it was measured. */
function timeless(report: EvalReport): string {
  const none = { seconds: null, tokensPerSecond: null };
  return JSON.stringify({
    ...report,
    uncut: none,
    resumed: { rows: [], damaged: [] },
    schemes: report.schemes.map((row) =>
      'rate' in row ? { ...row, rate: { ...none, percentOfUncut: null } } : row,
    ),
  });
}

const wholeOf = async (given: Given) => timeless(await evaluate(optionsOf(given)));
const whole = await wholeOf({});

function filesOf(name: string, of: number, given: Given = {}) {
  return shardFiles(join(folder, name), of, (part) =>
    evaluateShard(optionsOf(given), part, CONTEXT),
  );
}

const mergedText = (files: readonly ShardFile[]) =>
  timeless(evalReportSchema.parse(merged(files).result.report));
const merging = async (files: readonly ShardFile[]) => mergeShards(files);

/** Runs of the model in a shard, by id. */
async function runsOf(part: ShardPart, given: Given = {}): Promise<string[]> {
  const runs: string[] = [];
  const onRun: FakeModelOptions['onRun'] = (plan) => void runs.push(plan?.scheme.id ?? 'uncut');
  await evaluateShard(optionsOf({ ...given, model: { onRun } }), part, CONTEXT);
  return runs;
}

describe('an evaluation in shards', () => {
  // 3 windows of 5 rows and 2 prompts for each scheme, 3 for f16.
  it.each([1, 2, 3, 8, 40])('of %i gives the report of one process, byte for byte', async (of) => {
    const files = await filesOf(`equal-${of}`, of);
    expect(mergedText(files)).toBe(whole);
  });

  it('equals it without retrieval, and with f16 alone', async () => {
    const bare: Given = { windowsOnly: true, options: { schemes: [] } };
    const given: [string, Given][] = [
      ['no-retrieval', { windowsOnly: true }],
      ['bare', bare],
    ];
    for (const [name, one] of given)
      expect(mergedText(await filesOf(name, 8, one))).toBe(await wholeOf(one));
  });

  it('runs each scheme once per window, f16 and the uncut model once per window it has a part of', async () => {
    const runs = (await Promise.all([1, 2, 3].map((index) => runsOf({ index, of: 3 })))).flat();
    const count = (id: string) => runs.filter((run) => run === id).length;
    expect(count('uncut')).toBe(3);
    expect(count('f16')).toBe(3 + 3);
    for (const id of ['four', 'two', 'eight']) expect(count(id)).toBe(3 + 2);
    // 5 shards cut at most 4 windows: what they run more often is the baseline.
    const five = await Promise.all(
      [1, 2, 3, 4, 5].map((index) => runsOf({ index, of: 5 }, { windowsOnly: true })),
    );
    const uncut = five.flat().filter((run) => run === 'uncut').length;
    expect(uncut).toBeGreaterThan(3);
    expect(uncut).toBeLessThanOrEqual(3 + 4);
    for (const id of ['four', 'two', 'eight'])
      expect(five.flat().filter((run) => run === id)).toHaveLength(3);
  });

  it('says which schemes a shard measures, so that the others need no calibration', () => {
    const options = optionsOf({ windowsOnly: true, options: { windows: 1 } });
    const ids = [1, 2, 3, 4].map((index) => evalShardSchemes(options, { index, of: 4 }));
    expect(ids.flat()).toEqual(['four', 'bands', 'two', 'eight']);
    expect(ids.every((own) => own.length === 1)).toBe(true);
  });

  it('keeps the reason of the first window in which a scheme failed', async () => {
    const failing = (plan: unknown, tokens: readonly number[]) => {
      const scheme = (plan as { scheme?: { id: string } } | null)?.scheme?.id;
      if (scheme !== 'two' || tokens[0] === firstToken) return;
      throw new LowbitKvError('OUTLIER_CAPACITY', {
        message: `no room at token ${tokens[0]}`,
        value: tokens[0],
        valid: 'fewer',
        next: 'Take another.',
      });
    };
    const firstToken = optionsOf({}).text.tokens[0];
    const given: Given = { model: { onRun: failing } };
    const expected = await wholeOf(given);
    expect(expected).toContain('no room at token');
    for (const of of [1, 3, 8])
      expect(mergedText(await filesOf(`failing-${of}`, of, given))).toBe(expected);
  });

  it('is merged with the machines of all, and the command that merges', async () => {
    const on = (machine: string) => ({ options: { settings: { ...SETTINGS, machine } } });
    const [first] = (await filesOf('fast', 2, on('a fast one'))) as [ShardFile];
    const [, second] = (await filesOf('slow', 2, on('a slow one'))) as [ShardFile, ShardFile];
    const { report } = mergeShards([second, first], { command: 'merge a b' });
    expect(report).toMatchObject({
      settings: { machine: 'a fast one; a slow one' },
      command: 'merge a b',
    });
  });

  it('counts what shards took from their stores', async () => {
    const store = fileStore(join(folder, 'store'));
    await filesOf('kept', 2, { options: { store } });
    const again = await filesOf('kept', 2, { options: { store } });
    const report = evalReportSchema.parse(merged(again).result.report);
    expect(timeless(report)).toBe(whole);
    expect(report.resumed.rows).toEqual([
      { id: 'f16', windows: 3, prompts: 3 },
      ...['four', 'two', 'eight'].map((id) => ({ id, windows: 3, prompts: 2 })),
    ]);
  });
});

describe('merging refuses', () => {
  it('when a shard is missing, and says which to run', async () => {
    const files = await filesOf('missing', 8);
    const error = await refusal(merging(files.filter((_, i) => i !== 4)), 'MERGE_REFUSED');
    expect(error.summary).toMatch(/^units are missing: (window|prompt) \d: /);
    expect(error.next).toContain('with --shard 5/8,');
  });

  it('when f16 of a window that two shards have a part of differs', async () => {
    const files = await filesOf('cut', 5, { windowsOnly: true });
    const shared = files.flatMap(({ shard }) =>
      [...shard.units.keys()].filter((unit) => unit === 'window 1: f16'),
    );
    expect(shared.length).toBeGreaterThan(1);
    const change: FakeModelOptions['change'] = (logits, { plan }) => {
      if (plan !== null) logits[3] = (logits[3] as number) + 1e-3;
    };
    const others = await filesOf('cut-other', 5, { windowsOnly: true, model: { change } });
    const mixed = files.map((file, i) => (i % 2 === 0 ? file : (others[i] as ShardFile)));
    const error = await refusal(merging(mixed), 'MERGE_REFUSED');
    expect(error.summary).toMatch(
      /^two shards have different results of one unit: window \d: f16$/,
    );
    expect(error.next).toContain('one kind of machine');
  });

  const model: EvaluatedModel = { ...fakeModel(), fingerprint: 'e'.repeat(64) };
  const tokens = optionsOf({}).text.tokens.map((token) => (token + 1) % 50);
  const others: [string, Partial<EvaluateOptions>, string][] = [
    ['model', { model }, 'model.fingerprint (ffff'],
    ['text', { text: { name: 'text', sha256: 'a'.repeat(64), tokens } }, 'windows.tokensSha256'],
    ['windows', { windows: 2 }, 'windows.count (3 and 2)'],
    ['settings', { settings: { ...SETTINGS, mode: 'x' } }, 'settings.mode (fake and x)'],
    ['limit', { f16Difference: 1 }, 'thresholds.f16Difference (0.5 and 1)'],
    ['prompts', { retrieval: { ...retrieval, seed: 2 } }, 'retrieval'],
  ];
  it.each(others)('another %s', async (name, options, text) => {
    const [first] = (await filesOf('same', 2)) as [ShardFile];
    const [, other] = (await filesOf(`other-${name}`, 2, { options })) as [ShardFile, ShardFile];
    const error = await refusal(merging([first, other]), 'MERGE_REFUSED');
    expect(error.summary).toContain(text);
    expect(error.value).toEqual([first.file, other.file]);
  });

  it('another calibration of a scheme that both measure', async () => {
    const calibrated = (outerHigh: number): Given => {
      const thresholds = { outerLow: -2, outerHigh, innerLow: -0.125, innerHigh: 0.125 };
      const calibration: Calibration = {
        specVersion: 1,
        scheme: schemeFingerprint(BANDS),
        provenance: {},
        layers: [1, 2].map(() => ({ key: { thresholds }, value: { thresholds } })),
      };
      return { options: { calibrations: { bands: calibration } } };
    };
    const [first] = (await filesOf('calibrated', 3, calibrated(2))) as [ShardFile];
    const [, other] = (await filesOf('otherwise', 3, calibrated(3))) as [ShardFile, ShardFile];
    const error = await refusal(merging([first, other]), 'MERGE_REFUSED');
    expect(error.summary).toContain('plan of bands');
  });
});
