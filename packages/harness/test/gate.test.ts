/** Gates: conditions as text, the figures they read, and rows that nothing can be said of. */
import { readFileSync } from 'node:fs';
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type CompareReport,
  checkGate,
  compareSchemes,
  F16,
  gateMetrics,
  parseCondition,
  type ReportKind,
} from '../src/index.js';
import { evalRow, evaluateFake } from './support/fake-evaluation.js';
import { FAKE_GEOMETRY, fakeLogits, fakeModel } from './support/fake-model.js';
import { builtInFailures, compared, failuresOf } from './support/gates.js';
import { affine, channelwise } from './support/schemes.js';
import { syntheticCapture } from './support/synthetic-capture.js';

const EIGHT = channelwise('eight', 8);
const TWO = channelwise('two', 2);

describe('a condition', () => {
  it.each<[string, ReportKind, object]>([
    ['kl.p99>0.1', 'eval', { metric: 'kl.p99', operator: '>', limit: 0.1, percent: false }],
    [' ppl.delta >= 2 % ', 'eval', { operator: '>=', limit: 0.02, percent: true }],
    ['top1<99%', 'eval', { metric: 'top1', operator: '<', limit: 0.99 }],
    ['retrieval.worst<-.5', 'eval', { limit: -0.5 }],
    ['output.worstHead<=1e-3', 'compare', { operator: '<=', limit: 0.001 }],
    ['bits>4', 'compare', { metric: 'bits', limit: 4, text: 'bits>4' }],
  ])('%s', (text, kind, parsed) => {
    expect(parseCondition(text, kind)).toMatchObject(parsed);
  });

  it.each<[string, ReportKind, RegExp]>([
    ['bits', 'compare', /this is no condition.*got "bits".*in quotes/],
    ['', 'compare', /no condition/],
    ['bits=4', 'compare', /no condition/],
    ['bits>', 'compare', /no condition/],
    ['bits>4 5', 'compare', /no condition/],
    ['bits>1e999', 'compare', /no condition/],
    ['bits>Infinity', 'compare', /no condition/],
    ['>4', 'compare', /no condition/],
    ['output.worsthead>1', 'compare', /no metric output.worsthead.*Did you mean output\.worstHead/],
    ['kl.p99>1', 'compare', /compare reports have no metric kl\.p99.*valid:.*output\.worstHead/],
    ['kl.99>1', 'eval', /Did you mean kl\.p99/],
    ['kl.p99>1%', 'eval', /kl\.p99 is in nats.*valid:.*ppl\.delta/],
    ['bits>4%', 'compare', /bits per element, which has no percent/],
  ])('%j of %s is refused', (text, kind, message) => {
    expect(() => parseCondition(text, kind)).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        value: text,
        message: expect.stringMatching(message),
      }),
    );
  });

  it('names metrics that differ, each with its field and unit', () => {
    for (const kind of ['compare', 'eval'] as const) {
      const metrics = gateMetrics(kind);
      expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
      for (const { field, what } of metrics) expect(field.length * what.length).toBeGreaterThan(0);
    }
  });
});

describe('over a comparison', async () => {
  const report = await compared([EIGHT, TWO]);
  const row = report.schemes[2];
  if (row?.status !== 'measured') throw new Error('not measured');

  it('says which scheme, place, value and limit, and nothing of schemes that pass', () => {
    const { layer, head, nmse } = row.output.worstHead;
    const conditions = [parseCondition('output.worstHead > 0.01', 'compare')];
    expect(checkGate(report, { conditions })).toEqual({
      passed: false,
      failures: [
        {
          scheme: 'two',
          metric: 'output.worstHead',
          condition: 'output.worstHead>0.01',
          value: nmse,
          limit: 0.01,
          place: { layer, head },
          message: expect.stringMatching(
            new RegExp(
              `^two fails output\\.worstHead>0\\.01: .* 0\\.\\d+ at layer ${layer} head ${head}$`,
            ),
          ),
        },
      ],
      notes: [],
    });
  });

  it('reads every metric from the field it says', () => {
    const read = (path: string) =>
      path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], row);
    const metrics = gateMetrics('compare').filter(({ field }) => !field.includes('[]'));
    expect(metrics.length).toBeGreaterThan(10);
    for (const { name, field } of metrics) {
      const value = read(field) as number;
      expect(value).toBeGreaterThan(0);
      expect(failuresOf(report, `${name}<${value}`).filter((text) => /^two /.test(text))).toEqual(
        [],
      );
      expect(failuresOf(report, `${name}<=${value}`).some((text) => /^two /.test(text))).toBe(true);
    }
  });

  it('reads the context where memory is saved least', () => {
    const least = Math.min(...row.memory.map(({ ratio }) => ratio));
    const ofTwo = (text: string) => failuresOf(report, text).filter((one) => /^two /.test(one));
    expect(ofTwo(`memory.ratio<${least * 1.001}`)).toEqual([
      expect.stringMatching(/^two fails memory\.ratio.* at tokens \d+$/),
    ]);
    expect(ofTwo(`memory.ratio<${least * 0.999}`)).toEqual([]);
  });

  it('a figure that is not finite crosses every limit, in either direction', () => {
    const broken: CompareReport = structuredClone(report);
    const [, eight] = broken.schemes;
    if (eight?.status !== 'measured') throw new Error('not measured');
    eight.output.worstHead.nmse = null;
    for (const text of ['output.worstHead>1e9', 'output.worstHead<0'])
      expect(failuresOf(broken, text)).toEqual([
        expect.stringMatching(/^eight fails .* not finite at layer \d head \d$/),
      ]);
    expect(builtInFailures(broken)[0]).toMatch(
      /^eight fails output\.worstHead>0\.25: .*not finite/,
    );
  });

  it('a mean that hides one head passes, and the built-in gate does not', () => {
    const hidden: CompareReport = structuredClone(report);
    const [, eight] = hidden.schemes;
    if (eight?.status !== 'measured') throw new Error('not measured');
    eight.output.worstHead = { layer: 5, head: 3, nmse: 0.9 };
    expect(failuresOf(hidden, 'output.mean>0.05').some((text) => /^eight/.test(text))).toBe(false);
    expect(builtInFailures(hidden)).toContain(
      'eight fails output.worstHead>0.25: output.worstHead 0.9 at layer 5 head 3',
    );
  });
});

describe('rows without figures fail every gate', () => {
  it('refused', async () => {
    const key = affine(4, 'channels', 64, { recent: 0, flush: 1 });
    const wide = channelwise('wide', 4, { key });
    const report = await compared([EIGHT, wide]);
    expect(failuresOf(report, 'bits>99')).toEqual([
      expect.stringMatching(/^wide fails every gate: refused: .*64/),
    ]);
    expect(builtInFailures(report)).toHaveLength(1);
  });

  it('unmeasured: everything is still in a window', async () => {
    const report = await compareSchemes({
      capture: await syntheticCapture(),
      schemes: [
        channelwise('all-window', 4, {
          key: affine(4, 'tokens', 32, { recent: 512, flush: 32 }),
          value: affine(4, 'channels', 32, { recent: 512, flush: 1 }),
        }),
      ],
      backend: referenceBackend(),
    });
    expect(builtInFailures(report)).toEqual([
      expect.stringMatching(/^all-window fails every gate: unmeasured: nothing was quantized/),
    ]);
  });

  it('no scheme at all', async () => {
    const report = await compared([]);
    expect(builtInFailures(report)).toEqual(['the report has no scheme besides f16']);
  });

  it('a figure that this row does not have', async () => {
    const report = await evaluateFake(fakeModel({ notesHeads: false }));
    expect(failuresOf(report, 'output.worstHead>9', 'retrieval.worst<-9')).toEqual(
      ['four', 'two'].flatMap((id) => [
        `${id} fails output.worstHead>9: this row has no such figure`,
        `${id} fails retrieval.worst<-9: this row has no such figure`,
      ]),
    );
  });
});

describe('over an evaluation', () => {
  it('reads figures with their places', async () => {
    const report = await evaluateFake();
    const four = evalRow(report, 'four');
    const { from, to } = four.worstBucket;
    const failures = failuresOf(
      report,
      'kl.worstBucket>0',
      'kl.max>0',
      'ppl.delta>-100%',
      'top1<=100%',
      'ppl>0',
    ).filter((text) => /^four/.test(text));
    const { window, position } = four.divergence.max;
    const delta = Number((100 * ((four.perplexityRatio.value ?? 0) - 1)).toPrecision(3));
    expect(failures).toEqual([
      expect.stringMatching(new RegExp(` at positions ${from} to ${to - 1}$`)),
      expect.stringMatching(new RegExp(` at window ${window} position ${position}$`)),
      `four fails ppl.delta>-100%: ppl.delta ${delta}%`,
      expect.stringMatching(/top1 \d+(\.\d+)?%$/),
      expect.stringMatching(/ppl \d+/),
    ]);
  });

  it('the built-in gate looks at the worst bucket, not at the mean', async () => {
    const report = await evaluateFake();
    const four = evalRow(report, 'four');
    for (const bucket of four.buckets) bucket.divergence.mean = 0.001;
    four.divergence.p99 = 0.01;
    four.divergence.mean = 0.001;
    four.noise.worstHead = { layer: 0, head: 0, nmse: 0.01 };
    four.noise.worstLayer = { layer: 0, nmse: 0.01 };
    const ofFour = () => builtInFailures(report).filter((text) => /^four/.test(text));
    expect(ofFour()).toEqual([]);
    const [last] = four.buckets.slice(-1);
    if (last === undefined) throw new Error('no bucket');
    last.divergence.mean = 0.2;
    expect(ofFour()).toEqual([
      `four fails kl.worstBucket>0.1: kl.worstBucket 0.2 at positions ${last.from} to ${last.to - 1}`,
    ]);
    last.divergence.mean = 0.001;
    four.noise.worstHead = { layer: 1, head: 2, nmse: 0.4 };
    expect(ofFour()).toEqual([
      'four fails output.worstHead>0.25: output.worstHead 0.4 at layer 1 head 2',
    ]);
  });

  it('says what a model keeps to itself, and judges by the rest', async () => {
    const report = await evaluateFake(fakeModel({ notesHeads: false }));
    const { failures, notes } = checkGate(report, { builtIn: true });
    expect(notes).toContain('four: output.worstHead is not known and was not judged');
    expect(failures.map(({ metric }) => metric)).toContain('kl.worstBucket');
  });

  it('a cache that was never read fails every gate', async () => {
    const f16 = createPlan(F16, FAKE_GEOMETRY);
    const report = await evaluateFake(
      fakeModel({
        change(logits, { plan, tokens, row }) {
          if (plan?.scheme.id === 'four') logits.set(fakeLogits(f16, tokens, row, 50));
        },
      }),
    );
    expect(failuresOf(report, 'kl.p99>1e9')).toEqual([
      expect.stringMatching(
        /^four fails every gate: invalid: .*cache-used.*the cache was not read/,
      ),
    ]);
  });
});

it('docs/gates.md lists every metric with its unit and field', () => {
  const text = readFileSync(new URL('../docs/gates.md', import.meta.url), 'utf8');
  for (const kind of ['compare', 'eval'] as const) {
    const section = text.split(`### \`${kind}\``)[1]?.split('\n#')[0] ?? '';
    const listed = [...section.matchAll(/^\| `([\w.]+)` \| ([\w ]+) \| `([^`]+)` \|/gm)];
    expect(listed.map(([, name, unit, field]) => ({ name, unit, field }))).toEqual(
      gateMetrics(kind).map(({ name, unit, field }) => ({ name, unit, field })),
    );
  }
});
