/** Tuning on a generated capture: the choice, its proof, the scheme file, and what cannot be tuned. */
import { referenceBackend, type Scheme, schemeDataOf, schemeFingerprint } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  compareSchemes,
  formatTuneReport,
  type MeasuredRow,
  parseSchemeFile,
  type TuneOptions,
  type TuneProgress,
  type TuneReport,
  tuneScheme,
} from '../src/index.js';
import { refusal } from './support/failures.js';
import { affine, bandScheme, channelwise, scheme } from './support/schemes.js';
import { type SyntheticCapture, syntheticCapture } from './support/synthetic-capture.js';

const CAPTURE: Partial<SyntheticCapture> = { tokens: 320, queries: 24, layers: [2, 5, 6] };
const perToken = (id: string, bits: 2 | 4 | 8) =>
  scheme(
    id,
    affine(bits, 'channels', 32, { recent: 0, flush: 1 }),
    affine(bits, 'channels', 16, { recent: 4, flush: 1 }),
    { packing: 'before-attention' },
  );
const PRESETS = [
  channelwise('two', 2),
  channelwise('four', 4),
  channelwise('eight', 8),
  perToken('token-two', 2),
  perToken('token-four', 4),
  bandScheme('bands'),
];

async function tune(
  changes: Partial<TuneOptions> = {},
  presets: readonly Scheme[] = PRESETS,
): Promise<TuneReport> {
  return tuneScheme({
    capture: await syntheticCapture(CAPTURE),
    presets,
    budgetBits: 4,
    backend: referenceBackend(),
    windows: { sinks: 4, recent: 16 },
    positions: 8,
    modelLayers: 9,
    ...changes,
  });
}

const report = await tune();

describe('the choice', () => {
  it('spends no more than the budget and loses less than every uniform scheme within it', () => {
    const [tuned, single, ...uniform] = report.rows;
    expect(tuned).toMatchObject({ kind: 'tuned', id: 'tuned-4' });
    expect(single).toMatchObject({ kind: 'single-pair' });
    expect(tuned?.bits).toBeLessThanOrEqual(4);
    expect(tuned?.bits).toBeGreaterThan(3.5);
    expect(tuned?.bits).toBeCloseTo(report.allocation.bits, 12);
    const ids = uniform.map(({ kind, id }) => `${kind} ${id}`);
    expect(ids).toEqual([
      'preset two',
      'preset token-two',
      'same-windows two-same-windows',
      'same-windows token-two-same-windows',
    ]);
    for (const row of uniform) {
      expect(row.fit.nmse).toBeGreaterThan(tuned?.fit.nmse as number);
      expect(row.heldOut.nmse).toBeGreaterThan(tuned?.heldOut.nmse as number);
    }
    expect(report.beatsAll).toBe(true);
    expect(tuned?.heldOut.nmse).toBeGreaterThan(1e-4);
  });

  it('has in the replay the error that the table foretold', () => {
    const { error, layers, greedy } = report.allocation;
    const mean = layers.reduce((sum, layer) => sum + layer.error, 0) / layers.length;
    expect(error).toBeCloseTo(mean, 12);
    expect(Math.abs((report.rows[0]?.fit.nmse as number) / error - 1)).toBeLessThan(1e-6);
    expect(greedy.error).toBeGreaterThanOrEqual(error);
    expect(greedy.gap).toBeCloseTo(greedy.error / error - 1, 12);
  });

  it('is judged by queries that it was not chosen by', () => {
    expect(report.fit).toEqual({ first: 297, last: 307, count: 6 });
    expect(report.heldOut).toEqual({ first: 309, last: 319, count: 6 });
  });

  it('knows candidates by what they store: two presets that differ in windows are one', () => {
    const key = report.candidates.key.map(({ presets }) => presets.join('+'));
    expect(key).toEqual(['two', 'token-two', 'four', 'token-four', 'bands', 'eight', 'f16']);
    expect(report.candidates.key.map(({ bits }) => bits)).toEqual(
      report.candidates.key.map(({ bits }) => bits).toSorted((a, b) => a - b),
    );
    expect(report.candidates.key.at(-1)).toEqual({ presets: ['f16'], bits: 16, alone: 0 });
    const value = report.candidates.value.find(({ presets }) => presets.includes('token-two'));
    expect(value).toMatchObject({ presets: ['token-two'], bits: 4 });
  });

  it('spends a large budget on f16 and has no error then', async () => {
    const { rows, allocation } = await tune({ budgetBits: 16 }, [channelwise('four', 4)]);
    expect(allocation.bits).toBe(16);
    expect(rows[0]?.heldOut.nmse).toBeLessThan(1e-12);
  });
});

describe('the scheme file', () => {
  it('survives JSON and a comparison, bits and calibration included', async () => {
    const wide = await tune({ budgetBits: 6.5 }, [channelwise('two', 2), bandScheme('bands')]);
    const file = parseSchemeFile(JSON.parse(JSON.stringify(wide.schemeFile)));
    expect(file).toEqual(wide.schemeFile);
    const { scheme: tuned, calibration, provenance } = file;
    expect(tuned).toMatchObject({ id: 'tuned-6-5', sinks: 4, packing: 'before-attention' });
    expect(wide.allocation.layers.some(({ key, value }) => [key, value].includes('bands'))).toBe(
      true,
    );
    expect(calibration?.scheme).toBe(schemeFingerprint(tuned));
    expect(calibration?.layers).toHaveLength(3);
    expect(provenance).toMatchObject({
      'made by': 'lowbit-kv tune',
      budget: '6.5 bits per element of packed blocks',
    });
    const compared = await compareSchemes({
      capture: await syntheticCapture(CAPTURE),
      schemes: [tuned],
      backend: referenceBackend(),
      modelLayers: 9,
      calibrations: calibration === undefined ? {} : { [tuned.id]: calibration },
    });
    const row = compared.schemes[1] as MeasuredRow;
    expect(row.status).toBe('measured');
    const errors = [wide.rows[0]?.fit.nmse, wide.rows[0]?.heldOut.nmse] as number[];
    expect(row.output.nmse).toBeGreaterThan(Math.min(...errors) / 2);
    expect(row.output.nmse).toBeLessThan(Math.max(...errors) * 2);
  });

  it('stores layers that were not captured as the best single pair', () => {
    const { scheme: tuned } = report.schemeFile;
    expect(tuned.key).toEqual(singlePairOf(report).key);
    const overridden = (tuned.overrides ?? []).flatMap(({ layers }) => layers);
    expect(new Set(overridden).size).toBe(overridden.length);
    for (const layer of overridden) expect([2, 5, 6]).toContain(layer);
  });

  it('may be the bare data of a scheme, and names what is wrong with one', () => {
    const data = schemeDataOf(PRESETS[0]);
    expect(parseSchemeFile(structuredClone(data))).toEqual({
      schemeFile: 1,
      scheme: data,
      provenance: {},
    });
    const parse = (content: unknown) => () => parseSchemeFile(content);
    expect(parse({ schemeFile: 2, scheme: data, provenance: {} })).toThrow(
      /^SCHEME_INVALID.*schemeFile/,
    );
    expect(parse({ schemeFile: 1, scheme: { ...data, sinks: -1 }, provenance: {} })).toThrow(
      /^SCHEME_INVALID.*sinks/,
    );
    expect(parse({ schemeFile: 1, scheme: data, provenance: {}, calibration: {} })).toThrow(
      /^CALIBRATION_INVALID/,
    );
    expect(parse([])).toThrow(/^SPEC_VERSION_UNSUPPORTED/);
  });
});

function singlePairOf({ schemeFile: { scheme: tuned } }: TuneReport) {
  const { key, value } = tuned;
  return { key, value };
}

describe('what cannot be tuned', () => {
  it('says the lowest possible bits when the budget is below them', async () => {
    const error = await refusal(
      tune({ budgetBits: 2.9 }, [channelwise('two', 2)]),
      'OPTION_INVALID',
    );
    expect(error.message).toContain('at least 3: the cheapest key and value of every layer');
    expect(error.value).toBe(2.9);
    const exact = await tune({ budgetBits: 3 }, [channelwise('two', 2)]);
    expect(exact.lowestBits).toBe(3);
    expect(exact.allocation.layers.map(({ key, value }) => `${key} ${value}`)).toEqual(
      Array.from({ length: 3 }, () => 'two two'),
    );
  });

  it.each<[Partial<TuneOptions>, string]>([
    [{ budgetBits: 0 }, 'budgetBits'],
    [{ budgetBits: Number.NaN }, 'budgetBits'],
    [{ positions: 0 }, 'positions'],
    [{ windows: { sinks: -1 } }, 'windows.sinks'],
    [{ windows: { recent: 0.5 } }, 'windows.recent'],
  ])('refuses %j', async (changes, field) => {
    const error = await refusal(tune(changes), 'OPTION_INVALID');
    expect(error.message).toContain(field);
  });

  it('says why nothing is a candidate instead of asking for other schemes', async () => {
    const slow = scheme('slow', affine(2, 'tokens', 512, { recent: 0, flush: 512 }), { bits: 16 });
    const error = await refusal(tune({ budgetBits: 4 }, [slow]), 'OPTION_INVALID');
    expect(error.message).toContain('at least 16');
    expect(error.message).toMatch(/keys of slow: packs nothing before the first query/);
  });

  it('says so when no layer can store what the budget pays for', async () => {
    // Thresholds that make every value an outlier: more than there is room for.
    const thresholds = { outerLow: -(2 ** -10), innerLow: 0, innerHigh: 0, outerHigh: 2 ** -10 };
    const { calibration, key: bands } = bandScheme('bands');
    if (bands.bits === 16 || bands.outliers?.kind !== 'bands') throw new Error('no bands');
    const key = {
      ...bands,
      outliers: { ...bands.outliers, storage: { format: 'coo64', reserve: 4 } },
    } as const;
    const tight = scheme('tight', key, key, {
      calibration,
      calibrate: async () => [2, 5, 6].map(() => ({ key: { thresholds }, value: { thresholds } })),
    });
    const error = await refusal(tune({ budgetBits: 9 }, [tight]), 'OPTION_INVALID');
    expect(error.message).toContain('the data of a layer do not fit the cheapest candidates');
  });

  it('refuses an id before anything is measured: one that no scheme can have, and one of a preset', async () => {
    const progress: string[] = [];
    const onProgress = ({ what }: TuneProgress) => void progress.push(what);
    await refusal(tune({ id: 'Two Words', onProgress }), 'SCHEME_INVALID');
    const taken = await refusal(tune({ id: 'token-two', onProgress }), 'OPTION_INVALID');
    expect(taken.message).toContain('an id that no preset has');
    expect(progress).toEqual([]);
  });

  it('needs two query positions', async () => {
    const capture = await syntheticCapture({ ...CAPTURE, queries: 1 });
    await refusal(tune({ capture }), 'OPTION_INVALID');
  });

  it('leaves out what it cannot use, with the reason', async () => {
    const wide = scheme('wide', affine(4, 'channels', 64, { recent: 0, flush: 1 }), { bits: 16 });
    const slow = scheme('slow', affine(4, 'tokens', 512, { recent: 0, flush: 512 }), { bits: 16 });
    const { calibrate: _, ...bare } = bandScheme('bare');
    const { leftOut, unmeasured } = await tune({}, [channelwise('two', 2), wide, slow, bare]);
    const reasons = leftOut.map(({ preset, tensor, reason }) => `${preset} ${tensor}: ${reason}`);
    expect(reasons).toEqual([
      expect.stringMatching(/^bare key: .*needs offline calibration/),
      expect.stringMatching(/^bare value: .*needs offline calibration/),
      expect.stringMatching(/^wide key: .*group size/),
      expect.stringMatching(
        /^slow key: packs nothing before the first query, after 298 tokens: take/,
      ),
    ]);
    expect(unmeasured.map(({ id }) => id)).toContain('bare');
  });
});

it('weighs keys and values by their elements, in figures and in text', async () => {
  const capture = await syntheticCapture({
    ...CAPTURE,
    layers: [2],
    headDim: 64,
    valueHeadDim: 32,
  });
  const perHead = scheme(
    'per-head',
    affine(2, 'channels', 32, { recent: 0, flush: 1 }),
    affine(8, 'channels', 32, { recent: 0, flush: 1 }),
  );
  const lopsided = await tune({ capture, budgetBits: 5 }, [perHead]);
  const [layer] = lopsided.allocation.layers;
  expect(layer).toMatchObject({ key: 'per-head', keyBits: 3, value: 'per-head', valueBits: 9 });
  expect(layer?.bits).toBeCloseTo((3 * 64 + 9 * 32) / 96, 12);
  expect(lopsided.allocation.bits).toBeCloseTo(5, 12);
  expect(formatTuneReport(lopsided)).toMatch(/^2 +per-head +3 +per-head +9 +5 /m);
});

it('names in the text what gave no candidates', async () => {
  const slow = scheme('slow', affine(2, 'tokens', 512, { recent: 0, flush: 512 }), { bits: 16 });
  const text = formatTuneReport(await tune({}, [channelwise('two', 2), slow]));
  expect(text).toMatch(/^No candidates: keys of slow: packs nothing/m);
});

it('reads as text of at most 120 columns', () => {
  const text = formatTuneReport(report);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  expect(text).toContain('budget 4 bits per element of packed blocks (3 is the lowest possible)');
  expect(text).toMatch(/^Beats every uniform scheme of at most 4 bits on the held-out queries/m);
  expect(text).toMatch(/^tuned-4 +tuned +\d\.\d{3} /m);
});
