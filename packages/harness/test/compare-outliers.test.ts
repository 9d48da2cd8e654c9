/** Key channels with a large constant: per-token groups must come out far worse, though the keys look alike. */
import { readFileSync } from 'node:fs';
import { referenceBackend, type TensorScheme } from '@lowbit-kv/core';
import { lcgNormal, type NormalRecipe } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { checkGate, compareSchemes, type MeasuredRow, openCapture } from '../src/index.js';
import { safetensorsBytes } from './support/safetensors-bytes.js';
import { affine, scheme } from './support/schemes.js';

interface CaseFile {
  readonly input: Record<'K' | 'V' | 'q', NormalRecipe<'f16'>>;
  readonly expected: {
    readonly measuredByOracle: Record<
      'gaussianKeysNoOps' | 'outlierKeys',
      Record<string, { relErrOut: number; cosK: number }>
    >;
  };
}
const { input, expected } = JSON.parse(
  readFileSync(
    new URL('../../../fixtures/cases/num-key-channel-outliers.json', import.meta.url),
    'utf8',
  ),
) as CaseFile;

const NOW = { recent: 0, flush: 32 };
const SCHEMES: [string, TensorScheme][] = ([2, 4, 8] as const).flatMap((bits) => [
  [`perChannel(tokens,32) ${bits}-bit`, affine(bits, 'tokens', 32, NOW)],
  [`perToken(dims,32) ${bits}-bit`, affine(bits, 'channels', 32, NOW)],
  [`perToken(dims,128) ${bits}-bit`, affine(bits, 'channels', 128, NOW)],
]);

/** The last query attends over 256 packed keys and exact values: packing comes before attention. */
async function measure(key: NormalRecipe<'f16'>) {
  const query = { ...input.q, shape: [1, 8, 1, 128] };
  const tensor = (recipe: NormalRecipe<'f16'>) => ({
    dtype: 'F16',
    shape: recipe.shape,
    data: lcgNormal(recipe),
  });
  const capture = await openCapture(
    safetensorsBytes(
      {
        'layers.0.key': tensor(key),
        'layers.0.value': tensor(input.V),
        'layers.0.query': tensor(query),
      },
      { format: 'lowbit-kv-capture', version: '1', scale: String(1 / Math.sqrt(128)) },
    ),
  );
  const report = await compareSchemes({
    capture,
    schemes: SCHEMES.map(([, spec], i) =>
      scheme(`case-${i}`, spec, { bits: 16 }, { packing: 'before-attention' }),
    ),
    backend: referenceBackend(),
  });
  const rows = new Map<string, MeasuredRow>();
  for (const [i, [name]] of SCHEMES.entries()) {
    const row = report.schemes[i + 1];
    if (row?.status === 'measured') rows.set(name, row);
  }
  return { rows, report };
}

const { channelOps, ...plain } = input.K;
const { rows: gaussian, report: random } = await measure(plain);
const { rows: outliers, report: shaped } = await measure({
  ...input.K,
  channelOps: channelOps ?? [],
});
const relative = (rows: Map<string, MeasuredRow>, name: string) =>
  Math.sqrt(rows.get(name)?.output.nmse ?? Number.NaN);

describe.each([
  ['gaussianKeysNoOps', gaussian],
  ['outlierKeys', outliers],
] as const)('%s', (data, rows) => {
  it.each(SCHEMES.map(([name]) => name))('%s within 15 %% of the oracle', (name) => {
    const oracle = expected.measuredByOracle[data][name]?.relErrOut ?? Number.NaN;
    expect(relative(rows, name) / oracle).toBeGreaterThan(0.85);
    expect(relative(rows, name) / oracle).toBeLessThan(1.15);
  });
});

it('ranks per-channel 4-bit at least 5 times better than per-token 4-bit, and says why', () => {
  const channel = outliers.get('perChannel(tokens,32) 4-bit');
  const token = outliers.get('perToken(dims,128) 4-bit');
  expect(
    relative(outliers, 'perToken(dims,128) 4-bit') /
      relative(outliers, 'perChannel(tokens,32) 4-bit'),
  ).toBeGreaterThan(5);
  // Both keys have a cosine above 0.99, that is an NMSE below 0.02: only the output tells them apart.
  expect(channel?.key.nmse).toBeLessThan(0.02);
  expect(token?.key.nmse).toBeLessThan(0.02);
  expect(channel?.verdict.level).not.toBe('unsafe');
  expect(token?.verdict.level).toBe('unsafe');
  expect(token?.verdict.reason).toMatch(
    /from its keys.*outlier channels \(largest channel \d+\.\dx/,
  );
});

it('sees no such difference on normal keys', () => {
  expect(
    relative(gaussian, 'perToken(dims,128) 4-bit') /
      relative(gaussian, 'perChannel(tokens,32) 4-bit'),
  ).toBeLessThan(1.5);
});

it('the built-in gate fails per-token 4-bit by name, and random keys as no proof of anything', () => {
  const failed = checkGate(shaped, { builtIn: true }).failures;
  const place = SCHEMES.findIndex(([name]) => name === 'perToken(dims,128) 4-bit');
  expect(failed).toContainEqual(
    expect.objectContaining({ scheme: `case-${place}`, metric: 'output.worstHead' }),
  );
  expect(failed.filter(({ scheme }) => scheme === null)).toEqual([]);
  expect(checkGate(random, { builtIn: true }).failures[0]).toMatchObject({
    scheme: null,
    metric: 'capture.data.keyChannelOutliers',
  });
});
