/** Whole comparisons on small captures: rows, refusals, overrides, calibration, determinism and the report's schema. */
import {
  type Backend,
  type Calibration,
  type CalibrationSample,
  LowbitKvError,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type CompareOptions,
  type CompareReport,
  compareReportJsonSchema,
  compareReportSchema,
  compareSchemes,
  formatReport,
  type MeasuredRow,
} from '../src/index.js';
import { affine, bandScheme, channelwise, scheme } from './support/schemes.js';
import { type SyntheticCapture, syntheticCapture } from './support/synthetic-capture.js';

const F16 = { bits: 16 } as const;

async function compareOn(
  changes: Partial<SyntheticCapture>,
  schemes: readonly Scheme[],
  more: Partial<CompareOptions> = {},
): Promise<CompareReport> {
  const capture = await syntheticCapture(changes);
  return compareSchemes({ capture, schemes, backend: referenceBackend(), ...more });
}

function measuredRow(report: CompareReport, id: string): MeasuredRow {
  const row = report.schemes.find((candidate) => candidate.id === id);
  if (row?.status !== 'measured') throw new Error(`${id}: ${row?.verdict.reason ?? 'no such row'}`);
  return row;
}

describe('the rows', () => {
  it('puts f16 first, exact to output rounding, and gives schemes in their order', async () => {
    const report = await compareOn({}, [channelwise('four', 4), channelwise('two', 2)]);
    expect(report.schemes.map(({ id }) => id)).toEqual(['f16', 'four', 'two']);
    const f16 = measuredRow(report, 'f16');
    expect(f16.output.worstHead.nmse).toBeLessThan(1e-13);
    expect(f16.output.worstHead.nmse).toBeGreaterThan(0);
    expect(f16.key.nmse).toBe(0);
    expect(f16.bits.used).toBe(16);
    expect(f16.verdict.level).toBe('baseline');
    expect(report.checks.map(({ name, result }) => [name, result])).toEqual([
      ['output-not-empty', 'passed'],
      ['attention-reads-cache', 'passed'],
      ['f16-exact', 'passed'],
      ['swapped-cache-differs', 'passed'],
    ]);
    expect(report.valid).toBe(true);
  });

  it('a scheme that the backend emulates is refused, or measured and marked when that is allowed', async () => {
    const reference = referenceBackend();
    const backend: Backend = {
      ...reference,
      supports: (plan) =>
        plan.scheme.id === 'four'
          ? { kind: 'emulated', reasons: ['no kernel'] }
          : { kind: 'native' },
    };
    const schemes = [channelwise('four', 4), channelwise('two', 2)];
    const refused = (await compareOn({}, schemes, { backend })).schemes[1];
    expect(refused).toMatchObject({ status: 'refused', code: 'PLAN_REFUSED' });
    const report = await compareOn({}, schemes, { backend, allowEmulation: true });
    expect(measuredRow(report, 'four').emulated).toEqual(['no kernel']);
    expect(measuredRow(report, 'two').emulated).toEqual([]);
    expect(formatReport(report)).toContain('Emulated by the backend: four (no kernel).');
  });

  it('counts the bits of the steps that attend, tokens that wait to be packed included', async () => {
    const report = await compareOn({}, [channelwise('four', 4)]);
    const { bits } = measuredRow(report, 'four');
    // 12 queries at the last of 160 tokens; keys are packed 32 at once, values keep 16 tokens in f16.
    const lengths = Array.from({ length: 12 }, (_, i) => 149 + i);
    const expected = lengths.map((length) => {
      const keys = Math.floor(length / 32) * 32;
      const packed = keys + (length - 16);
      return (5 * packed + 16 * (2 * length - packed)) / (2 * length);
    });
    expect(bits.used).toBeCloseTo(expected.at(-1) as number, 12);
    expect(bits.attended).toBeCloseTo(expected.reduce((a, b) => a + b) / 12, 12);
    expect(bits.attended - bits.used).toBeGreaterThan(0.4);
    expect(measuredRow(report, 'f16').bits.attended).toBe(16);
  });

  it('loses more with fewer bits, in every figure', async () => {
    const report = await compareOn(
      {},
      [2, 4, 8].map((n) => channelwise(`b${n}`, n as 2 | 4 | 8)),
    );
    const [two, four, eight] = ['b2', 'b4', 'b8'].map((id) => measuredRow(report, id));
    const figures = (row: MeasuredRow | undefined) => [
      row?.key.packedNmse,
      row?.value.packedNmse,
      row?.output.nmse,
      row?.output.worstHead.nmse,
      row?.output.maxAbsError.value,
      row?.output.logSumExp.mean,
    ];
    for (const [i, value] of figures(four).entries()) {
      expect(value).toBeGreaterThan(2 * (figures(eight)[i] ?? Number.NaN));
      expect(figures(two)[i]).toBeGreaterThan(2 * (value ?? Number.NaN));
    }
    expect(two?.verdict.level).toBe('unsafe');
  });

  it('counts bits exactly: 160 tokens, keys packed to 160, values to 144', async () => {
    const report = await compareOn({}, [channelwise('four', 4)]);
    const { bits, held, packedBytes } = measuredRow(report, 'four');
    expect(held.map(({ tensor, packed, tail }) => [tensor, packed, tail])).toEqual([
      ['key', 160, 0],
      ['value', 144, 16],
    ]);
    const packed = 304 / 320;
    expect(bits.codes).toBeCloseTo(4 * packed, 12);
    expect(bits.parameters).toBeCloseTo(packed, 12);
    expect(bits.windows).toBeCloseTo(16 * (16 / 320), 12);
    expect(bits.packed).toEqual({ total: 5, codes: 4, parameters: 1, outliers: 0 });
    expect(bits.used + bits.unused).toBeCloseTo(bits.total, 12);
    expect(packedBytes).toBeGreaterThan(0);
  });

  it('packs prompts at once and then token by token, and says so', async () => {
    const steps: string[] = [];
    const report = await compareOn({}, [], {
      onProgress: ({ id, step, steps: all }) => steps.push(`${id} ${step}/${all}`),
    });
    expect(report.replay).toMatchObject({ prefillTokens: 148, decodeSteps: 12 });
    expect(report.replay.description).toMatch(/148 tokens in one prefill step.*12 steps of one/);
    expect(steps).toHaveLength(13);
    expect(steps.at(-1)).toBe('f16 13/13');
  });

  it('attends evenly spaced positions when asked for fewer than captured', async () => {
    const every = await compareOn({}, [channelwise('four', 4)]);
    const some = await compareOn({}, [channelwise('four', 4)], { positions: 4 });
    expect(every.replay.attendedPositions).toBe(12);
    // 12 queries over 4 positions are every third: tokens 150, 153, 156 and 159.
    expect(some.replay).toMatchObject({
      prefillTokens: 150,
      decodeSteps: 10,
      attendedPositions: 4,
    });
    expect(some.replay.description).toMatch(/10 steps of one token; every 3rd attended/);
    const { worstRow } = measuredRow(some, 'four').output;
    expect([150, 153, 156, 159]).toContain(worstRow.position);
    expect(measuredRow(some, 'four').output.nmse).toBeGreaterThan(0);
    expect(measuredRow(some, 'f16').output.worstHead.nmse).toBeLessThan(1e-13);
    await expect(compareOn({}, [], { positions: 0 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      value: 0,
    });
  });

  it('replays a capture whose queries start at its first token', async () => {
    const report = await compareOn({ tokens: 40, queries: 40 }, [channelwise('four', 4)]);
    expect(report.replay).toMatchObject({ prefillTokens: 0, decodeSteps: 40 });
    expect(measuredRow(report, 'four').output.nmse).toBeGreaterThan(0);
  });
});

describe('what cannot be measured', () => {
  it('is a row with its reason when the geometry refuses it', async () => {
    const wide = scheme(
      'wide',
      affine(4, 'tokens', 32, { recent: 0, flush: 32 }),
      affine(4, 'channels', 128, { recent: 0, flush: 1 }),
    );
    const report = await compareOn({}, [wide, channelwise('four', 4)]);
    expect(report.schemes[1]).toMatchObject({
      status: 'refused',
      id: 'wide',
      code: 'SHAPE_UNSUPPORTED',
      verdict: { level: 'refused', reason: expect.stringMatching(/group size.*head dim/) },
    });
    expect(measuredRow(report, 'four').verdict.level).not.toBe('refused');
    expect(formatReport(report)).toMatch(/^wide +refused: see below$/m);
  });

  it('is said when every token is still in a window', async () => {
    const patient = scheme(
      'patient',
      affine(2, 'tokens', 32, { recent: 0, flush: 256 }),
      affine(2, 'channels', 32, { recent: 256, flush: 1 }),
    );
    const { verdict, output } = measuredRow(await compareOn({}, [patient]), 'patient');
    expect(verdict.level).toBe('unmeasured');
    expect(verdict.reason).toMatch(/nothing was quantized at this length: all 160 tokens/);
    expect(output.worstHead.nmse).toBeLessThan(1e-13);
  });

  it('names the tensor when only one was quantized', async () => {
    const half = scheme(
      'half',
      affine(4, 'tokens', 32, { recent: 0, flush: 32 }),
      affine(4, 'channels', 32, { recent: 256, flush: 1 }),
    );
    const { verdict } = measuredRow(await compareOn({}, [half]), 'half');
    expect(verdict).toMatchObject({ level: 'unmeasured' });
    expect(verdict.reason).toMatch(/no values were quantized/);
  });

  it('refuses two rows of one id, and f16 as an id', async () => {
    for (const ids of [['a', 'a'], ['f16']]) {
      const schemes = ids.map((id) => channelwise(id, 4));
      const error = await compareOn({}, schemes).catch((e: unknown) => e);
      expect(LowbitKvError.is(error, 'OPTION_INVALID')).toBe(true);
    }
  });

  it('is thrown when right data cannot be told from wrong: layers that are equal', async () => {
    const error = await compareOn({ equalLayers: true }, []).catch((e: unknown) => e);
    expect(LowbitKvError.is(error, 'MEASUREMENT_INVALID')).toBe(true);
    expect((error as Error).message).toMatch(/swapped-cache-differs.*another layer's cache/);
    expect((error as LowbitKvError).next).toMatch(/leave out layers that are all zero, or equal/);
  });

  it('swaps heads in a capture of one layer, and skips the canary without a second head', async () => {
    const heads = (await compareOn({ layers: [4] }, [])).checks.at(-1);
    expect(heads).toMatchObject({ name: 'swapped-cache-differs', result: 'passed' });
    expect(heads?.detail).toMatch(/another head's cache/);
    const single = (await compareOn({ layers: [4], kvHeads: 1 }, [])).checks.at(-1);
    expect(single).toMatchObject({ name: 'swapped-cache-differs', result: 'skipped' });
  });
});

describe('layers of the model', () => {
  const keepFive = channelwise('keep-five', 2, {
    overrides: [{ layers: [5], key: { bits: 16 }, value: { bits: 16 } }],
  });

  it('applies overrides by number in the model, not by place in the capture', async () => {
    const report = await compareOn({}, [keepFive], { modelLayers: 8 });
    const { output, held } = measuredRow(report, 'keep-five');
    expect(output.layers.map(({ layer }) => layer)).toEqual([2, 5]);
    expect(output.layers[0]?.nmse).toBeGreaterThan(0.01);
    expect(output.layers[1]?.nmse).toBeLessThan(1e-13);
    expect(held.map(({ layers }) => layers)).toEqual([[2], [2]]);
  });

  it('measures heads that are stored apart: exact ones exact, the others as without the override', async () => {
    const overrides = [{ layers: [2, 5], heads: [1], key: F16, value: F16 }];
    const schemes = [channelwise('two', 2), channelwise('half', 2, { overrides })];
    const report = await compareOn({}, schemes, { modelLayers: 8 });
    const [whole, half] = ['two', 'half'].map((id) => measuredRow(report, id));
    for (const [i, { heads }] of (half?.output.layers ?? []).entries()) {
      expect(heads.slice(0, 2)).toEqual(whole?.output.layers[i]?.heads.slice(0, 2));
      for (const nmse of heads.slice(2)) expect(nmse).toBeLessThan(1e-13);
    }
    expect(whole?.output.layers[0]?.heads[2]).toBeGreaterThan(0.01);
    // Half of the elements are f16; of the others as many are packed as before.
    expect(half?.bits.packed).toEqual(whole?.bits.packed);
    expect(half?.bits.used).toBeCloseTo(((whole?.bits.used as number) + 16) / 2, 9);
    expect(half?.packedBytes).toBe((whole?.packedBytes as number) / 2);
    const error = (row: MeasuredRow | undefined) => row?.key as MeasuredRow['key'];
    expect(error(half).packedNmse).toBeGreaterThan(0.8 * (error(whole).packedNmse as number));
    expect(error(half).nmse).toBeLessThan(0.7 * (error(whole).nmse as number));
    expect(half?.memory[0]?.bytes).toBeGreaterThan(whole?.memory[0]?.bytes as number);
  });

  it('counts negative numbers from the last layer of the model', async () => {
    const last = channelwise('last', 2, { overrides: [{ layers: [-3], key: { bits: 16 } }] });
    const report = await compareOn({}, [last], { modelLayers: 8 });
    expect(measuredRow(report, 'last').held.map(({ tensor, layers }) => [tensor, layers])).toEqual([
      ['key', [2]],
      ['value', [2, 5]],
    ]);
  });

  it('refuses an override past the captured layers while the size of the model is unknown', async () => {
    const far = channelwise('far', 2, { overrides: [{ layers: [7], key: { bits: 16 } }] });
    const row = (await compareOn({}, [far])).schemes.find(({ id }) => id === 'far');
    expect(row).toMatchObject({ status: 'refused', code: 'GEOMETRY_INVALID' });
    expect(row?.verdict.reason).toMatch(/got 7; valid: -6 to 5.*model_layers/);
    expect(measuredRow(await compareOn({}, [far], { modelLayers: 8 }), 'far')).toBeDefined();
  });

  it('prints what a capture says of itself without control characters', async () => {
    const model = `evil \u001b]0;owned\u0007\nverdict: safe \u202e${'x'.repeat(500)}`;
    const text = formatReport(await compareOn({ metadata: { model } }, []));
    const title = (text.split('\n\n')[0] ?? '').replaceAll(/\n */g, ' ');
    expect(title).toContain('evil \\u{1b}]0;owned\\u{7}\\u{a}verdict: safe \\u{202e}xxx');
    expect(title.length).toBeLessThan(800);
    expect([...text].every((c) => c === '\n' || (c >= ' ' && c !== '\u202e'))).toBe(true);
  });

  it('scales memory to the model when its size is known', async () => {
    const bytes = (report: CompareReport) => measuredRow(report, 'four').memory[1];
    const captured = await compareOn({}, [channelwise('four', 4)]);
    const given = await compareOn({}, [channelwise('four', 4)], { modelLayers: 8 });
    const written = await compareOn({ metadata: { model_layers: '8' } }, [channelwise('four', 4)]);
    expect(captured.capture.modelLayers).toBeNull();
    expect(bytes(given)?.bytes).toBe(4 * (bytes(captured)?.bytes ?? Number.NaN));
    expect(bytes(written)).toEqual(bytes(given));
    // 32768 tokens, keys and values of 2 heads of 32 channels in 8 layers.
    expect(bytes(given)?.f16Bytes).toBe(32768 * 2 * 2 * 32 * 8 * 2);
    expect(bytes(given)?.ratio).toBeCloseTo(16 / 5, 1);
  });

  it.each([
    [{ modelLayers: 5 }, {}, 'OPTION_INVALID'],
    [{}, { model_layers: '5' }, 'CAPTURE_INVALID'],
    [{}, { model_layers: 'many' }, 'CAPTURE_INVALID'],
  ] as const)('refuses a size the capture contradicts: %j %j', async (option, metadata, code) => {
    const error = await compareOn({ metadata }, [], option).catch((e: unknown) => e);
    expect(LowbitKvError.is(error, code)).toBe(true);
  });
});

describe('offline calibration', () => {
  it('comes from the tokens before the queries, in runs of 256, and the report says so', async () => {
    const seen: CalibrationSample[] = [];
    const report = await compareOn({ tokens: 400, queries: 8 }, [bandScheme('bands', seen)]);
    expect(seen.map(({ layer, tokens }) => [layer, tokens])).toEqual([
      [0, 256],
      [1, 256],
      [0, 136],
      [1, 136],
    ]);
    expect(seen[0]?.key).toHaveLength(256 * 2 * 32);
    expect(measuredRow(report, 'bands').calibration).toEqual({
      source: 'capture',
      description: 'first 392 tokens of the capture, which the replay also caches',
    });
    expect(measuredRow(report, 'bands').key.nmse).toBeGreaterThan(0);
    expect(measuredRow(report, 'bands').key.nmse).toBeLessThan(0.02);
  });

  it('takes a given one, for the captured layers or for the whole model', async () => {
    const bands = bandScheme('bands');
    const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 };
    const calibration = (layers: number): Calibration => ({
      specVersion: 1,
      scheme: schemeFingerprint(bands),
      provenance: { text: 'made up' },
      layers: Array.from({ length: layers }, () => ({
        key: { thresholds },
        value: { thresholds },
      })),
    });
    const rows = await Promise.all(
      [2, 8].map(async (layers) => {
        const calibrations = { bands: calibration(layers) };
        return measuredRow(await compareOn({}, [bands], { calibrations, modelLayers: 8 }), 'bands');
      }),
    );
    expect(rows[0]?.calibration).toEqual({ source: 'given', description: 'text made up' });
    expect(rows[1]).toEqual(rows[0]);

    const wrong = await compareOn({}, [bands], { calibrations: { bands: calibration(3) } });
    expect(wrong.schemes[1]).toMatchObject({ status: 'refused', code: 'CALIBRATION_INVALID' });
  });

  it('is a refused row when a scheme can neither calibrate nor was given one', async () => {
    const { calibrate, ...bare } = bandScheme('bare');
    const report = await compareOn({}, [bare]);
    expect(calibrate).toBeTypeOf('function');
    expect(report.schemes[1]).toMatchObject({ status: 'refused', code: 'CALIBRATION_MISSING' });
  });
});

describe('the report', () => {
  it('is the same twice, to the byte', async () => {
    const schemes = [channelwise('four', 4), bandScheme('bands')];
    const first = JSON.stringify(await compareOn({}, schemes));
    expect(JSON.stringify(await compareOn({}, schemes))).toBe(first);
    expect(first).toMatch(/^\{"reportVersion":1,"capture":/);
  });

  it('satisfies its schema, also after JSON, refused rows included', async () => {
    const wide = scheme('wide', affine(4, 'channels', 128, { recent: 0, flush: 1 }), { bits: 16 });
    const report = await compareOn({}, [channelwise('four', 4), wide]);
    const parsed = compareReportSchema.parse(JSON.parse(JSON.stringify(report)));
    expect(parsed).toEqual(report);
    // Parsing puts keys into the order of the schema: they are in it already.
    expect(JSON.stringify(parsed)).toBe(JSON.stringify(report));
    expect(compareReportSchema.safeParse({ ...report, reportVersion: 2 }).success).toBe(false);
    expect(compareReportSchema.safeParse({ ...report, extra: 1 }).success).toBe(false);
    expect(compareReportJsonSchema()).toMatchObject({
      type: 'object',
      properties: { reportVersion: { const: 1 } },
      additionalProperties: false,
    });
  });

  it('prints lines of at most 120 columns, the same rows as Markdown', async () => {
    const long = channelwise(`a-scheme-with-a-long-name-${'x'.repeat(30)}`, 2);
    const report = await compareOn({ metadata: { model: 'a model' } }, [long]);
    const text = formatReport(report);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(text).toMatch(/^f16 +16\.00 +0 +0 /m);
    expect(text).toMatch(new RegExp(`^${long.id}: unsafe: `, 'm'));
    const markdown = formatReport(report, 'markdown');
    expect(markdown).toMatch(/^\| scheme +\|/m);
    expect(markdown).toMatch(/^- \*\*f16\*\* baseline: /m);
    // One width in every line of a table.
    const rows = markdown.split('\n').filter((line) => line.startsWith('| '));
    expect(new Set(rows.slice(0, 4).map((line) => line.length)).size).toBe(1);
  });
});
