/** Rows of simulations: figures against plain attention over what they give, their mark, and what they cannot do. */
import {
  LowbitKvError,
  referenceBackend,
  type SchemeSimulation,
  type SimulationShape,
} from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { readCaptureData } from '../src/capture-data.js';
import { exactAttention } from '../src/exact-attention.js';
import {
  type CompareOptions,
  compareReportSchema,
  compareSchemes,
  defaultCapturePath,
  formatReport,
  openCapture,
  type SimulatedRow,
} from '../src/index.js';
import { errorSum, nmseOf } from '../src/metrics.js';
import { refusal } from './support/failures.js';
import { channelwise } from './support/schemes.js';
import { Rounding, rounding } from './support/simulations.js';
import { syntheticCapture } from './support/synthetic-capture.js';

async function compare(
  simulations: readonly SchemeSimulation[],
  more: Partial<CompareOptions> = {},
) {
  return compareSchemes({
    capture: await syntheticCapture(),
    schemes: [channelwise('four', 4)],
    simulations,
    backend: referenceBackend(),
    positions: 5,
    ...more,
  });
}

describe('the row of a simulation', async () => {
  const step = 0.5;
  const made: Rounding[] = [];
  const report = await compare([
    rounding('coarse', step, {}, made),
    rounding('fine', 2 ** -20, {}, made),
  ]);
  const rows = report.schemes as SimulatedRow[];
  const layers = made.slice(0, 2);

  it('comes after the schemes, says that it stores nothing, and keeps to the schema', () => {
    expect(rows.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'f16 measured',
      'four measured',
      'coarse simulated',
      'fine simulated',
    ]);
    expect(rows[2]).not.toHaveProperty('bits');
    expect(rows[2]?.verdict).toMatchObject({
      level: 'care',
      reason: expect.stringMatching(/^simulated, no bytes: worst head /),
    });
    expect(rows[3]?.verdict.level).toBe('safe');
    expect(report.paretoFront).toEqual(['four']);
    expect(compareReportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
  });

  it('was fed as decoding would: the tokens before the first query in one call, then one by one', () => {
    for (const { calls } of layers) expect(calls).toEqual([150, ...Array(10).fill(1)]);
    expect(rows[2]?.held).toEqual([
      { tensor: 'key', sinks: 0, quantized: 159, recent: 1 },
      { tensor: 'value', sinks: 0, quantized: 159, recent: 1 },
    ]);
  });

  it('has the error of plain attention over what it gave at each query', async () => {
    const data = await readCaptureData(await syntheticCapture(), 5);
    const [layer] = data.layers;
    if (layer === undefined) throw new Error('no layer');
    const round = (x: number) => Math.round(x / step) * step;
    const width = data.sizes.queryHeads * 32;
    const truth = exactAttention({ ...layer.exact, query: layer.query }, data.sizes);
    let error = 0;
    let energy = 0;
    for (let query = 0; query < data.sizes.queries; query++) {
      const position = 159 - 3 * (data.sizes.queries - 1 - query);
      const seen = (values: Float32Array) =>
        values.slice(0, (position + 1) * 64).map((x, i) => (i >= position * 64 ? x : round(x)));
      const { output } = exactAttention(
        {
          key: seen(layer.exact.key),
          value: seen(layer.exact.value),
          query: layer.query.subarray(query * width, (query + 1) * width),
        },
        { ...data.sizes, tokens: position + 1, queries: 1, stride: 1 },
      );
      const sum = errorSum(output, truth.output.subarray(query * width, (query + 1) * width));
      error += sum.error;
      energy += sum.energy;
    }
    expect(error / energy).toBeGreaterThan(1e-3);
    expect(rows[2]?.output.layers[0]?.nmse).toBeCloseTo(error / energy, 12);
    const rounded = layer.exact.key.map((x, i) => (i >= 159 * 64 ? x : round(x)));
    const own = rows[2]?.key.worstLayer.nmse as number;
    expect(own).toBeGreaterThanOrEqual(nmseOf(errorSum(rounded, layer.exact.key)));
  });

  it('is marked in the text', () => {
    const text = formatReport(report);
    expect(text).toMatch(/^coarse +simulated +0\.\d+ /m);
    expect(text).toMatch(/^coarse +no bytes$/m);
    expect(text).toMatch(/^coarse: usable with care: simulated, no bytes: /m);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });
});

it('feeds and rotates keys from before the rotary embedding', async () => {
  const capture = await openCapture(defaultCapturePath());
  const { schemes } = await compare([rounding('before', 2 ** -24, { stage: 'pre-rope' })], {
    capture,
    schemes: [],
    positions: 1,
  });
  const row = schemes[1] as SimulatedRow;
  expect(row.key.nmse).toBe(0);
  // What is left is the rounding to f16 of keys that were rotated back.
  expect(row.output.nmse).toBeGreaterThan(1e-12);
  expect(row.output.nmse).toBeLessThan(1e-5);
  await capture.close();
});

it('calibrates what can be calibrated', async () => {
  const seen: number[] = [];
  const given: unknown[] = [];
  const simulation = rounding('calibrated', 0.5, {
    calibrate: async (samples) => {
      for await (const { tokens } of samples) seen.push(tokens);
      return [{ key: { tensorFactor: 3 } }, { key: { tensorFactor: 4 } }];
    },
    createLayer: (shape) => {
      given.push(shape.calibration?.key?.tensorFactor, shape.layer);
      return new Rounding(shape, 0.5);
    },
  });
  const report = await compare([simulation]);
  expect(report.schemes[2]).toMatchObject({ calibration: { source: 'capture' } });
  expect(seen).toEqual([150, 150]);
  expect(given).toEqual([3, 2, 4, 5]);
});

describe('a simulation that cannot run', () => {
  it('is a refused row with its reason', async () => {
    const createLayer = () => {
      throw new LowbitKvError('SHAPE_UNSUPPORTED', {
        message: 'groups do not fit',
        value: 32,
        valid: '128',
        next: 'Use another.',
      });
    };
    const report = await compare([rounding('refused', 1, { createLayer })]);
    expect(report.schemes[2]).toMatchObject({
      ...{ status: 'refused', id: 'refused', fingerprint: null, code: 'SHAPE_UNSUPPORTED' },
      verdict: { level: 'refused', reason: expect.stringContaining('groups do not fit') },
    });
  });

  it('is a refused row when it wants keys that the capture cannot give', async () => {
    const { schemes } = await compare([rounding('before', 1, { stage: 'pre-rope' })]);
    expect(schemes[2]).toMatchObject({ status: 'refused', id: 'before', code: 'PLAN_REFUSED' });
    expect(schemes[2]?.verdict.reason).toContain('rope_style');
    expect(schemes[2]?.verdict.reason).toContain('Add them to the capture');
  });

  it('has no figures where it gives NaN', async () => {
    class Broken extends Rounding {
      override keys(): Float32Array {
        return super.keys().fill(Number.NaN, 0, 1);
      }
    }
    const createLayer = (shape: SimulationShape) => new Broken(shape, 1);
    const report = await compare([rounding('broken', 1, { createLayer })]);
    expect(report.schemes[2]).toMatchObject({
      status: 'simulated',
      output: { nmse: null },
      verdict: {
        level: 'unsafe',
        reason: expect.stringMatching(
          /not finite: keys of layer 2 in 1 of 160 tokens, keys of layer 5 in 1 of 160 tokens$/,
        ),
      },
    });
  });

  it('ends the comparison when it loses tokens', async () => {
    class Losing extends Rounding {
      override values(): Float32Array {
        return super.values().slice(64);
      }
    }
    const createLayer = (shape: SimulationShape) => new Losing(shape, 1);
    await refusal(compare([rounding('losing', 1, { createLayer })]), 'MEASUREMENT_INVALID');
  });

  it('cannot share an id', async () => {
    await refusal(compare([rounding('four', 1)]), 'OPTION_INVALID');
  });
});
