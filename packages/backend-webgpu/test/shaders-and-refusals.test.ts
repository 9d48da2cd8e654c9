// The embedded shaders are the .wgsl files, and what has no shader is refused by name.
import { readdirSync, readFileSync } from 'node:fs';
import { createPlan } from '@lowbit-kv/core';
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

function reasonsOf(parts: SchemeParts): string[] {
  const geometry = {
    layers: 1,
    queryHeads: 2,
    kvHeads: 1,
    keyHeadDim: 64,
    valueHeadDim: 64,
    rotary: { pairs: 'halves' },
  } as const;
  const scheme = inlineScheme(parts);
  const calibration = inlineCalibration(scheme, geometry);
  return refusals(createPlan(scheme, geometry, calibration === undefined ? {} : { calibration }));
}

it('names what has no shader', () => {
  const plain = asymmetric(4, 'channels', 32);
  expect(reasonsOf({ key: plain, value: plain })).toEqual([]);
  expect(reasonsOf({ key: plain, value: bands('uniform', 'head') })).toEqual([
    'value: outliers of kind bands have no shader yet',
  ]);
  expect(reasonsOf({ key: withTop(plain, 2), value: plain })).toEqual([
    'key: outliers of kind top have no shader yet',
  ]);
  expect(reasonsOf({ key: { ...plain, stage: 'pre-rope' }, value: plain })).toEqual([
    'key: keys before the rotary embedding have no shader yet',
  ]);
  const value = withSharedExponent({ along: 'channels', size: 16 }, 16);
  expect(reasonsOf({ key: plain, value, codecs: [sharedExponentCodec(16)] })).toEqual([
    'value: codecs have no shader yet',
  ]);
});
