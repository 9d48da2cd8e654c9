// The embedded shaders are the .wgsl files, and what has no shader is refused by name.
import { readdirSync, readFileSync } from 'node:fs';
import { createPlan, type OutlierBands } from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  inlineCalibration,
  inlineScheme,
  type SchemeParts,
  sharedExponentCodec,
  withSharedExponent,
  withTop,
} from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { refusals } from '../src/refusals.js';
import { SHADER_PARTS } from '../src/shaders/parts.generated.js';

const folder = new URL('../src/shaders/', import.meta.url);

it('embeds every shader file as it is', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.wgsl'));
  const texts = files.map((name) => [
    name.slice(0, -'.wgsl'.length),
    readFileSync(new URL(name, folder), 'utf8'),
  ]);
  expect(SHADER_PARTS).toEqual(Object.fromEntries(texts));
});

function reasonsOf(parts: SchemeParts, keyHeadDim = 64): string[] {
  const geometry = {
    layers: 1,
    queryHeads: 2,
    kvHeads: 1,
    keyHeadDim,
    valueHeadDim: 64,
    rotary: { pairs: 'halves' },
  } as const;
  const scheme = inlineScheme(parts);
  const calibration = inlineCalibration(scheme, geometry);
  return refusals(createPlan(scheme, geometry, calibration === undefined ? {} : { calibration }));
}

it('takes outliers, keys before the rotary embedding, and codecs with WGSL text', () => {
  const plain = asymmetric(4, 'channels', 32);
  expect(reasonsOf({ key: plain, value: plain })).toEqual([]);
  expect(reasonsOf({ key: bands('midRise', 'head'), value: bands('uniform', 'allHeads') })).toEqual(
    [],
  );
  expect(reasonsOf({ key: withTop(plain, 2), value: withTop(plain, 1) })).toEqual([]);
  expect(reasonsOf({ key: { ...plain, stage: 'pre-rope' }, value: plain })).toEqual([]);
  const value = withSharedExponent({ along: 'channels', size: 16 }, 16);
  expect(reasonsOf({ key: plain, value, codecs: [sharedExponentCodec(16)] })).toEqual([]);
});

it('names what has no shader', () => {
  const plain = asymmetric(4, 'channels', 32);
  const { wgsl, ...silent } = sharedExponentCodec(16);
  expect(wgsl).toContain('fn encodeGroup');
  const coded = withSharedExponent({ along: 'channels', size: 16 }, 16);
  expect(reasonsOf({ key: plain, value: coded, codecs: [silent] })).toEqual([
    'value: the codec "shared-exponent-16" brings no WGSL text',
  ]);
  expect(reasonsOf({ key: { ...plain, stage: 'pre-rope' }, value: plain }, 640)).toEqual([
    'key: queries of head dim 640 do not fit into workgroup memory',
  ]);
  expect(reasonsOf({ key: plain, value: plain }, 640)).toEqual([]);
  const unshifted = bands('uniform', 'head');
  const outliers = { ...(unshifted.outliers as OutlierBands), groupShift: false };
  expect(reasonsOf({ key: plain, value: { ...unshifted, outliers } })).toEqual([
    'value: outlier bands without group shift are not executed yet',
  ]);
});
