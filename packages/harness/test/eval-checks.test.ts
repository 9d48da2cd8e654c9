/** Self-checks of an evaluation: each is set off by a model that is wrong in that way. */
import { createPlan, LowbitKvError } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  evalReportSchema,
  F16,
  type LayerNotes,
  type LogitsSink,
  type WindowNotes,
} from '../src/index.js';
import { refusal } from './support/failures.js';
import { evalRow, evaluateFake } from './support/fake-evaluation.js';
import {
  FAKE_GEOMETRY,
  type FakeModelOptions,
  type FakeRow,
  fakeLogits,
  fakeModel,
} from './support/fake-model.js';
import { bandScheme, channelwise } from './support/schemes.js';

const idOf = ({ plan }: Pick<FakeRow, 'plan'>) => plan?.scheme.id ?? 'uncut';

/** The check that failed in the row of scheme `four`. */
async function failedCheck(options: FakeModelOptions) {
  const report = await evaluateFake(fakeModel(options));
  expect(evalReportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
  const row = evalRow(report, 'four');
  expect(row.verdict.level).toBe('invalid');
  expect(report.valid).toBe(false);
  // The others stand.
  expect(evalRow(report, 'two').verdict.level).not.toBe('invalid');
  const failed = row.checks.filter(({ result }) => result === 'failed');
  expect(failed).toHaveLength(1);
  expect(row.verdict.reason).toContain(failed[0]?.detail);
  return { ...(failed[0] as { name: string; detail: string }), row };
}

/** Doctors the logits of one row of a run. */
const doctored = (id: string, change: (logits: Float32Array) => void): FakeModelOptions => ({
  change(logits, row) {
    if (idOf(row) === id && row.row === 33) change(logits);
  },
});

describe('of the run end it', () => {
  const cases: [string, FakeModelOptions, RegExp][] = [
    [
      'f16 is not the uncut model',
      doctored('f16', (logits) => {
        logits[3] = (logits[3] as number) + 0.75;
      }),
      /f16-equals-uncut.*0\.750 \(window 0 position 34\), at most 0\.5/,
    ],
    [
      'f16 gives its rows the wrong way round',
      {
        deliver(rows, sink, plan) {
          if (plan?.scheme.id !== 'f16') return sink(0, rows);
          for (let row = 0; row < 80; row++)
            sink(79 - row, rows.subarray(row * 50, (row + 1) * 50));
        },
      },
      /f16-equals-uncut/,
    ],
    [
      'the uncut model gives NaN',
      doctored('uncut', (logits) => logits.fill(Number.NaN, 4, 5)),
      /f16-equals-uncut.*NaN/,
    ],
    [
      'f16 gives NaN',
      doctored('f16', (logits) => logits.fill(Number.NaN, 4, 5)),
      /f16-equals-uncut.*NaN/,
    ],
    [
      'both give NaN',
      { change: (logits, { row }) => void (row === 33 && logits.fill(Number.NaN, 9, 10)) },
      /f16-equals-uncut.*NaN/,
    ],
    [
      'both rule out the right token',
      {
        change(logits, { tokens, row }) {
          if (row === 33) logits[tokens[34] as number] = Number.NEGATIVE_INFINITY;
        },
      },
      /finite.*window 0 are not finite for position 34, or give the right token/,
    ],
    [
      'all logits are 0',
      { change: (logits) => void logits.fill(0) },
      /logits-not-constant.*79 rows/,
    ],
    [
      'one row is constant',
      { change: (logits, { row }) => void (row === 8 && logits.fill(2)) },
      /logits-not-constant.*1 rows/,
    ],
    ['a vocabulary of one predicts nothing', { vocabularySize: 1 }, /logits-not-constant/],
  ];
  it.each(cases)('when %s', async (_, options, message) => {
    const error = await refusal(evaluateFake(fakeModel(options)), 'MEASUREMENT_INVALID');
    expect(error.message).toMatch(message);
    expect(error.value).toBe('fake');
  });

  it('unless a larger difference is allowed', async () => {
    const model = fakeModel(doctored('f16', (logits) => logits.fill(9, 3, 4)));
    const report = await evaluateFake(model, { f16Difference: 20 });
    expect(report.thresholds.f16Difference).toBe(20);
    expect(report.checks.map(({ name, result }) => [name, result])).toEqual([
      ['f16-equals-uncut', 'passed'],
      ['finite', 'passed'],
      ['logits-not-constant', 'passed'],
    ]);
  });
});

describe('of rows end the run', () => {
  const deliveries: [string, (rows: Float32Array, sink: LogitsSink) => void, RegExp][] = [
    ['a missing row', (rows, sink) => sink(1, rows.subarray(50)), /left out a row.*\n?.*0/],
    [
      'a row that is missing in the middle',
      (rows, sink) => {
        sink(0, rows.subarray(0, 500));
        sink(11, rows.subarray(550));
      },
      /left out a row/,
    ],
    ['no row at all', (rows, sink) => sink(0, rows.subarray(0, 0)), /left out a row/],
    [
      'a row twice',
      (rows, sink) => {
        sink(0, rows.subarray(0, 500));
        sink(9, rows.subarray(450));
      },
      /twice/,
    ],
    ['a row cut short', (rows, sink) => sink(0, rows.subarray(0, 475)), /another shape/],
    ['more rows than tokens', (rows, sink) => sink(1, rows), /another shape/],
    ['rows before the first', (rows, sink) => sink(-1, rows), /another shape/],
    ['rows between rows', (rows, sink) => sink(0.5, rows.subarray(0, 50)), /another shape/],
  ];
  it.each(deliveries)('for %s', async (_, deliver, message) => {
    for (const doctoredId of ['uncut', 'f16', 'two']) {
      const model = fakeModel({
        deliver: (rows, sink, plan) =>
          idOf({ plan }) === doctoredId ? deliver(rows, sink) : sink(0, rows),
      });
      const error = await refusal(evaluateFake(model), 'MEASUREMENT_INVALID');
      expect(error.message).toMatch(message);
      expect(error.next).toContain('fake is at fault');
    }
  });

  it('for notes of other layers or heads', async () => {
    const wrong: ((notes: WindowNotes) => WindowNotes)[] = [
      (notes) => ({ ...notes, layers: notes.layers.slice(1) }),
      (notes) => ({
        ...notes,
        layers: notes.layers.map((layer) => ({ ...layer, heads: layer.heads.slice(1) })),
      }),
      (notes) => ({
        ...notes,
        layers: notes.layers.map(({ causes, ...layer }, i) =>
          i === 0 || causes === undefined ? layer : { ...layer, causes },
        ),
      }),
    ];
    for (const notes of wrong)
      await refusal(evaluateFake(fakeModel({ notes })), 'MEASUREMENT_INVALID');
  });
});

describe('of a scheme make it invalid', () => {
  it('when the model does not depend on the plan', async () => {
    const { name, detail } = await failedCheck({
      change(logits, row) {
        if (idOf(row) === 'four') logits.set(likeF16(row));
      },
    });
    expect(name).toBe('cache-used');
    expect(detail).toContain('all logits of window 0 equal those of f16');
  });

  it('when one window of several did not read the cache', async () => {
    const seen = new Set<readonly number[]>();
    const { name, detail, row } = await failedCheck({
      change(logits, row) {
        if (idOf(row) !== 'four') return;
        seen.add(row.tokens);
        if (seen.size === 2) logits.set(likeF16(row));
      },
    });
    expect(name).toBe('cache-used');
    expect(detail).toContain('window 1');
    expect(row.divergence.mean).toBeGreaterThan(0);
  });

  const silent: [string, (layer: LayerNotes) => LayerNotes, RegExp][] = [
    ['keys', (layer) => ({ ...layer, key: { error: 0, energy: 9 } }), /keys of layer 0/],
    ['values', (layer) => ({ ...layer, value: { error: 0, energy: 9 } }), /values of layer 0/],
    [
      'attention outputs',
      (layer) => ({ ...layer, heads: layer.heads.map(() => ({ error: 0, energy: 9 })) }),
      /attention outputs of layer 0/,
    ],
  ];
  it.each(silent)('when packing leaves no noise in %s', async (_, change, place) => {
    const { name, detail } = await failedCheck({
      notes: (notes, plan) =>
        idOf({ plan }) === 'four' ? { ...notes, layers: notes.layers.map(change) } : notes,
    });
    expect(name).toBe('noise-noted');
    expect(detail).toMatch(place);
  });

  const notFinite: [string, (logits: Float32Array) => void][] = [
    ['NaN', (logits) => logits.fill(Number.NaN, 0, 1)],
    ['nothing but NaN', (logits) => logits.fill(Number.NaN)],
    ['Infinity', (logits) => logits.fill(Number.POSITIVE_INFINITY, 5, 6)],
    ['nothing but -Infinity', (logits) => logits.fill(Number.NEGATIVE_INFINITY)],
    [
      'no probability for what f16 expects',
      (logits) => logits.fill(Number.NEGATIVE_INFINITY, 0, 49),
    ],
  ];
  it.each(notFinite)('when its logits have %s, and no figure hides it', async (_, change) => {
    const { name, detail, row } = await failedCheck(doctored('four', change));
    expect(name).toBe('finite');
    expect(detail).toContain('window 0');
    expect(detail).toContain('position 34');
    expect(row.divergence.mean).toBeNull();
    expect(row.divergence.max).toMatchObject({ value: null, window: 0, position: 34 });
    expect(row.buckets[0]?.divergence.mean).toBeNull();
  });

  it('when its noise is not finite', async () => {
    const { name, detail, row } = await failedCheck({
      notes: (notes, plan) => {
        if (idOf({ plan }) !== 'four') return notes;
        const broken = { error: Number.NaN, energy: 1 };
        const layers = notes.layers.map((layer, i) =>
          i === 1 ? { ...layer, value: broken } : layer,
        );
        return { ...notes, layers };
      },
    });
    expect(name).toBe('finite');
    expect(detail).toContain('values of layer 1 of window 0');
    expect(row.noise.worstValues).toEqual({ layer: 1, nmse: null });
  });

  it('when its logits are constant', async () => {
    const { name } = await failedCheck(doctored('four', (logits) => logits.fill(0)));
    expect(name).toBe('logits-not-constant');
  });
});

it('extreme logits are figures like others', async () => {
  const model = fakeModel({
    change(logits, { tokens, row }) {
      if (row % 3 !== 0) return;
      const right = tokens[row + 1];
      logits[right === 4 ? 5 : 4] = 1e4;
      logits[right === 6 ? 7 : 6] = Number.NEGATIVE_INFINITY;
      logits[right === 8 ? 9 : 8] = -1e4;
    },
  });
  const report = await evaluateFake(model);
  expect(report.valid).toBe(true);
  // A third of the tokens are 1e4 nats away: e^(1e4 / 3) is beyond any number, and so it is null, not NaN.
  expect(evalRow(report, 'four').perplexity.value).toBeNull();
  expect(evalRow(report, 'four').divergence.mean).toBeGreaterThan(0);
  expect(JSON.stringify(report)).not.toContain('NaN');
});

describe('of windows that are too short', () => {
  it('a scheme is not measured where no prediction sees a packed token', async () => {
    // After 32 tokens keys are packed, too late for the last prediction.
    const report = await evaluateFake(fakeModel(), { windowTokens: 33 });
    const row = evalRow(report, 'four');
    expect(row.verdict).toMatchObject({ level: 'unmeasured' });
    expect(row.verdict.reason).toContain('no prediction sees packed keys:');
    expect(report.valid).toBe(true);
    const longer = await evaluateFake(fakeModel(), { windowTokens: 34 });
    expect(evalRow(longer, 'four').verdict.level).not.toBe('unmeasured');
    const shorter = await evaluateFake(fakeModel(), { windowTokens: 10 });
    expect(evalRow(shorter, 'four').verdict.reason).toContain('packed keys and values:');
    expect(evalRow(shorter, 'four').checks.map(({ result }) => result)).toEqual([
      'passed',
      'passed',
      'skipped',
      'skipped',
    ]);
  });
});

describe('schemes that do not fit', () => {
  it('are rows with their reason, and the others go on', async () => {
    const report = await evaluateFake(fakeModel(), {
      schemes: [bandScheme('bands'), channelwise('two', 2)],
    });
    expect(report.schemes[1]).toMatchObject({
      id: 'bands',
      status: 'refused',
      code: 'CALIBRATION_MISSING',
    });
    expect(evalRow(report, 'two').divergence.mean).toBeGreaterThan(0);
    expect(report.valid).toBe(true);
  });

  it('are found out before the baseline runs, and are run no more', async () => {
    const opened: string[] = [];
    const runs: string[] = [];
    const model = fakeModel({
      onOpen(plan) {
        opened.push(plan.scheme.id);
        if (plan.scheme.id === 'four') throw planRefused();
      },
      onRun: (plan) => runs.push(idOf({ plan })),
    });
    const report = await evaluateFake(model);
    expect(report.schemes[1]).toMatchObject({ status: 'refused', code: 'PLAN_REFUSED' });
    expect(opened).toEqual(['four', 'two', 'f16']);
    expect(runs).toEqual(Array.from({ length: 3 }, () => ['uncut', 'f16', 'two']).flat());
  });

  it('may fail in the middle', async () => {
    let runs = 0;
    const model = fakeModel({
      onRun: (plan) => {
        if (plan?.scheme.id === 'four' && ++runs === 2) throw capacity();
      },
    });
    const seen: number[] = [];
    const report = await evaluateFake(model, {
      onProgress: ({ tokensDone, tokensTotal }) => seen.push(tokensDone / tokensTotal),
    });
    expect(report.schemes[1]).toMatchObject({ status: 'failed', code: 'OUTLIER_CAPACITY' });
    expect(runs).toBe(2);
    expect(seen.at(-1)).toBe(1);
  });

  it('are told from a model that breaks, which ends the run and closes what is open', async () => {
    const closed: string[] = [];
    const model = fakeModel({
      onRun: (plan) => {
        if (plan?.scheme.id === 'two') throw new RangeError('broken');
      },
      onDispose: (plan) => closed.push(plan.scheme.id),
    });
    await expect(evaluateFake(model)).rejects.toThrow('broken');
    expect(closed.toSorted()).toEqual(['f16', 'four', 'two']);
  });
});

const f16 = createPlan(F16, FAKE_GEOMETRY);

/** What the fake model gives under f16. */
function likeF16({ tokens, row }: FakeRow): Float32Array {
  return fakeLogits(f16, tokens, row, 50);
}

function planRefused(): LowbitKvError {
  return new LowbitKvError('PLAN_REFUSED', { message: 'not this one', next: 'Take another.' });
}

function capacity(): LowbitKvError {
  return new LowbitKvError('OUTLIER_CAPACITY', { message: 'too many', next: 'Reserve more.' });
}
