/** The report of an evaluation: its schema, its verdicts and what a person reads. */
import { createPlan } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { evalVerdict } from '../src/eval/verdict.js';
import {
  EVAL_THRESHOLDS,
  type EvalReport,
  evalReportJsonSchema,
  evalReportSchema,
  formatEvalReport,
} from '../src/index.js';
import { evalRow, evaluateFake, FOUR, TWO, WINDOW_TOKENS } from './support/fake-evaluation.js';
import { FAKE_GEOMETRY, fakeModel, fakeTokens } from './support/fake-model.js';
import { bandScheme, channelwise } from './support/schemes.js';

const encode = (text: string) => Array.from(text, (c) => (c.codePointAt(0) as number) % 50);
const depths = Array.from({ length: 21 }, (_, i) => 5 * i);

/** All that a report can hold: refused rows, long names, retrieval, settings, many buckets. */
const long = channelwise(`a-scheme-with-a-long-name-${'x'.repeat(20)}`, 2);
const full: EvalReport = await evaluateFake(fakeModel(), {
  text: {
    name: `text\u001b[31m${' of words'.repeat(40)}`,
    sha256: 'b'.repeat(64),
    tokens: fakeTokens(2600),
  },
  windows: 2,
  windowTokens: 1300,
  schemes: [FOUR, long, bandScheme('bands')],
  settings: { backend: 'reference', stress: 'none' },
  command: 'lowbit-kv eval --model fake',
  retrieval: { encode, contexts: [300, 600], depths },
});

describe('a report', () => {
  it('satisfies its schema, also after JSON', () => {
    const parsed = evalReportSchema.parse(JSON.parse(JSON.stringify(full)));
    expect(parsed).toEqual(full);
    // Parsing puts keys into the order of the schema: they are in it already.
    expect(JSON.stringify(parsed)).toBe(JSON.stringify(full));
    expect(evalReportSchema.safeParse({ ...full, reportVersion: 2 }).success).toBe(false);
    expect(evalReportSchema.safeParse({ ...full, extra: 1 }).success).toBe(false);
    expect(evalReportJsonSchema()).toMatchObject({
      type: 'object',
      properties: { reportVersion: { const: 1 } },
      additionalProperties: false,
    });
  });

  it('is the same for the same inputs, but for its clock', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => evaluateFake(fakeModel(), { now: () => 0 })),
    );
    expect(JSON.stringify(first)).toBe(JSON.stringify(second));
    expect(first?.uncut).toEqual({ seconds: 0, tokensPerSecond: null });
  });

  it('repeats the thresholds it was judged by', () => {
    expect(full.thresholds).toEqual(EVAL_THRESHOLDS);
  });
});

describe('the text', () => {
  const text = formatEvalReport(full);
  const lines = text.split('\n');

  it('has at most 120 columns and no control characters', () => {
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(120);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('text\\u{1b}[31m of words');
  });

  it('keeps 120 columns with the widest figures', () => {
    const wide = structuredClone(full);
    for (const row of wide.schemes) {
      if (row.status !== 'measured') continue;
      const errors = { standardError: 8888.888, windowStandardError: 9999.999 };
      row.perplexity = { value: 9999.999, ...errors };
      row.deltaNegativeLog = { mean: -9999.9999, ...errors };
      row.probabilityChange.mean = -0.9999;
      const tiny = { layer: 100, nmse: 0.001_234 };
      row.noise.worstKeys = row.noise.worstValues = row.noise.worstLayer = tiny;
      row.noise.worstHead = { ...tiny, head: 100 };
      row.buckets = Array.from({ length: 8 }, (_, i) => ({
        ...(row.buckets[0] as (typeof row.buckets)[number]),
        from: 65_536 * 2 ** i,
        to: 65_536 * 2 ** (i + 1),
      }));
      row.rate = { seconds: 1, tokensPerSecond: 123_456, percentOfUncut: 100 };
    }
    for (const line of formatEvalReport(wide).split('\n'))
      expect(line.length).toBeLessThanOrEqual(120);
  });

  it('has a line per scheme in each table, and what could not be measured', () => {
    expect(text).toMatch(
      /^f16 +16\.00 +\d+\.\d{3} \+- \d+\.\d{3} +0\.0000 \+- 0\.0000 +0\.00 % +0\.0 % +100\.0 % +baseline$/m,
    );
    expect(lines.filter((line) => line.startsWith('four '))).toHaveLength(3 + 2 * 3);
    expect(lines.filter((line) => /^bands +refused: see below$/.test(line))).toHaveLength(3);
    expect(text).toMatch(/^bands: refused: /m);
    expect(text).toMatch(/^scheme +mean +p99 +@1 +@128 +@256 +@512 +@1024$/m);
    expect(text).toMatch(/^in \d+ tokens +0 % +5 % +10 % .* 45 %$/m);
    expect(text).toMatch(/^in \d+ tokens +100 %$/m);
    expect(text).toMatch(/^without the key +-\d/m);
  });

  it('states the larger of two standard errors', () => {
    const { perplexity } = evalRow(full, 'four');
    const larger = Math.max(perplexity.standardError ?? 0, perplexity.windowStandardError ?? 0);
    expect(text).toMatch(
      new RegExp(`^four .* ${perplexity.value?.toFixed(3)} \\+- ${larger.toFixed(3)} `, 'm'),
    );
  });

  it('says which rows were resumed, and what was damaged', () => {
    const resumed = formatEvalReport({
      ...full,
      resumed: {
        rows: [
          { id: 'f16', windows: 1, prompts: 0 },
          { id: 'four', windows: 2, prompts: 42 },
        ],
        damaged: [{ key: 'abcdef0123456789', reason: 'the checksum is wrong' }],
      },
    }).replaceAll('\n  ', ' ');
    expect(resumed).toContain(
      'with their rates: f16 1 of 2 windows, four 2 of 2 windows and 42 prompts.',
    );
    expect(resumed).toContain('The stored result abcdef012345 was damaged (the checksum is wrong)');
    expect(text).not.toContain('earlier runs');
  });

  it('says the same as Markdown', () => {
    const markdown = formatEvalReport(full, 'markdown');
    expect(markdown).toContain('## Quality against f16');
    expect(markdown).toMatch(/^- \*\*f16\*\* baseline: /m);
    const rows = markdown.split('\n').filter((line) => line.startsWith('| '));
    expect(new Set(rows.slice(0, 5).map((line) => line.length)).size).toBe(1);
    expect(rows.filter((line) => line.startsWith('| four '))).toHaveLength(9);
  });

  it('shows figures that are not finite as a dash, never as NaN', async () => {
    const report = await evaluateFake(
      fakeModel({
        change(logits, { plan, row }) {
          if (plan?.scheme.id === 'four' && row === 3) logits.fill(Number.NaN);
        },
      }),
    );
    expect(formatEvalReport(report)).not.toMatch(/NaN|null|undefined/);
    expect(formatEvalReport(report)).toMatch(/^four +\S+ +- \+- - +- \+- - /m);
  });
});

describe('a verdict', () => {
  const plan = createPlan(TWO, FAKE_GEOMETRY);
  type Judged = Parameters<typeof evalVerdict>[0];
  type Layer = { keysOnly: number; valuesOnly: number; output: number };

  const quiet: Layer = { keysOnly: 0.001, valuesOnly: 0.001, output: 0.001 };

  /** A row with some figures of its own: KL p99, KL of the buckets, NMSE of the layers. */
  function judged(
    p99: number,
    buckets: readonly number[],
    layers: readonly Layer[] = [quiet, quiet],
  ) {
    const model = fakeModel({
      notes: (notes, { scheme }) =>
        scheme.id !== 'two'
          ? notes
          : {
              ...notes,
              layers: layers.map(({ keysOnly, valuesOnly, output }) => ({
                key: { error: 0.5, energy: 1 },
                value: { error: 0.5, energy: 1 },
                causes: {
                  keysOnly: { error: keysOnly, energy: 1 },
                  valuesOnly: { error: valuesOnly, energy: 1 },
                },
                heads: [0, 1, 2, 3].map((head) => ({
                  error: head === 3 ? output * 2.5 : output * 0.5,
                  energy: 1,
                })),
              })),
            },
    });
    return evaluateFake(model).then((report) => {
      const row = structuredClone(evalRow(report, 'two')) as Judged;
      row.divergence.p99 = p99;
      const bucket = row.buckets[0] as Judged['buckets'][number];
      row.buckets = buckets.map((mean, i) => ({
        ...bucket,
        from: 1 + i,
        to: 2 + i,
        divergence: { ...bucket.divergence, mean },
      }));
      const worst = buckets.indexOf(Math.max(...buckets));
      row.worstBucket = { from: 1 + worst, to: 2 + worst };
      return evalVerdict(row, plan.classes, WINDOW_TOKENS);
    });
  }

  it.each([
    ['safe', 0.2, [0.02, 0.01]],
    ['care', 0.201, [0.01, 0.01]],
    ['care', 0.1, [0.01, 0.021]],
    ['care', 1, [0.1, 0.01]],
    ['unsafe', 1.01, [0.01, 0.01]],
    ['unsafe', 0.1, [0.01, 0.11]],
  ])('is %s for KL p99 %d and buckets %j', async (level, p99, buckets) => {
    expect((await judged(p99, buckets)).level).toBe(level);
  });

  it('names the bucket that decides, and the limit', async () => {
    const { reason } = await judged(0.1, [0.001, 0.5, 0.001]);
    expect(reason).toMatch(/^KL 0\.50 at positions 2 to 2 \(limit 0\.1\); /);
    expect(reason).toContain('no layer fails alone, the noisiest: keys and values of layer 0');
  });

  it.each([
    ['keys', { keysOnly: 0.31, valuesOnly: 0.1, output: 0.5 }],
    ['values', { keysOnly: 0.1, valuesOnly: 0.31, output: 0.3 }],
    ['keys and values', { keysOnly: 0.29, valuesOnly: 0.1, output: 0.3 }],
    ['values', { keysOnly: 0, valuesOnly: 0.01, output: 0.5 }],
  ])('says that %s of a layer fail', async (source, layer) => {
    const { level, reason } = await judged(5, [0.5], [quiet, layer]);
    expect(level).toBe('unsafe');
    expect(reason).toContain(`; ${source} of layer 1: output NMSE ${layer.output.toPrecision(2)} `);
    expect(reason).toContain(
      `(keys alone ${layer.keysOnly.toPrecision(2)}, values alone ${layer.valuesOnly.toPrecision(2)}), head 3 ${(2.5 * layer.output).toPrecision(2)}`,
    );
  });

  it('blames no tensor where the model does not tell', async () => {
    const model = fakeModel({
      notes: ({ layers, ...notes }) => ({
        ...notes,
        layers: layers.map(({ causes, ...layer }) => layer),
      }),
    });
    const row = evalRow(await evaluateFake(model), 'two');
    expect(row.failingLayers[0]).toMatchObject({ source: null, keysOnlyNmse: null });
    expect(row.verdict.reason).toMatch(/; layer \d: output NMSE 0\.0\d+, head \d /);
  });

  it('takes safe away for a noisy layer that the logits do not show, and no more', async () => {
    const noisy = { keysOnly: 0.5, valuesOnly: 0.5, output: 0.9 };
    const { level, reason } = await judged(0.1, [0.01], [quiet, noisy]);
    expect(level).toBe('care');
    expect(reason).toContain('worst layer 1 output NMSE 0.90 (limit 0.02)');
  });

  it('names three layers and counts the others', async () => {
    const { geometry, ...model } = fakeModel({
      notes: (notes) => ({
        ...notes,
        layers: Array.from({ length: 6 }, (_, i) => ({
          key: { error: i === 5 ? 0 : 0.1 * (i + 1), energy: i === 5 ? 0 : 1 },
          value: { error: 0.001, energy: 1 },
          heads: [0, 1, 2, 3].map(() => ({ error: 0.1 * (i + 1), energy: 1 })),
        })),
      }),
    });
    const report = await evaluateFake({ ...model, geometry: { ...geometry, layers: 6 } });
    const row = evalRow(report, 'two');
    expect(row.failingLayers.map(({ layer }) => layer)).toEqual([5, 4, 3, 2, 1, 0]);
    expect(row.verdict.reason).toMatch(/layer 5.*layer 4.*layer 3.*; and 3 more layers$/);
  });

  it('does not name layers of a model that keeps its attention to itself', async () => {
    const report = await evaluateFake(fakeModel({ notesHeads: false }));
    const row = evalRow(report, 'two');
    expect(row.noise).toMatchObject({ worstLayer: null, worstHead: null });
    expect(row.failingLayers).toEqual([]);
    expect(row.verdict.reason).toContain('attention stays inside the model');
    expect(formatEvalReport(report)).toMatch(/^two +\S+ L\d +\S+ L\d +- +- /m);
  });
});
