// The entry for browsers: captures from blobs, layers of them, and nothing of Node below it.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LowbitKvError } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { layerTensors, openCaptureBlob, positionOf, rotaryOf } from '../src/browser.js';
import { tokensFirst } from '../src/capture-layers.js';
import { defaultCapturePath, openCapture } from '../src/index.js';

const bytes = readFileSync(defaultCapturePath());
const codeOf = (error: unknown) => (LowbitKvError.is(error) ? error.code : error);

it('a blob is the same capture as its file', async () => {
  const blob = await openCaptureBlob(new Blob([bytes]), 'dropped <b>');
  const file = await openCapture(defaultCapturePath());
  expect(blob.file).toBe('dropped <b>');
  expect(blob.provenance).toEqual(file.provenance);
  expect(blob.layers).toEqual([0, 10, 18, 29]);
  expect(await blob.readLayer(18)).toEqual(await file.readLayer(18));
  await blob.close();
  await file.close();
  expect(await blob.readLayer(18).catch(codeOf)).toBe('SAFETENSORS_INVALID');
});

it('only what is asked for is read', async () => {
  const read: [number, number][] = [];
  const watched = new Blob([bytes]);
  const slice = watched.slice.bind(watched);
  watched.slice = (start = 0, end = watched.size) => {
    read.push([start, end]);
    return slice(start, end);
  };
  const capture = await openCaptureBlob(watched, 'watched');
  expect(read.every(([, end]) => end < 8192)).toBe(true);
  read.length = 0;
  await capture.readLayer(10);
  expect(read.reduce((sum, [start, end]) => sum + end - start, 0)).toBe(933_888);
});

it('what is no capture, or cannot be read any more, is an error', async () => {
  const text = openCaptureBlob(new Blob(['<html>']), 'page.html');
  await expect(text).rejects.toThrow(/^SAFETENSORS_INVALID.*page\.html/s);
  const gone = new Blob([bytes]);
  gone.slice = () => ({ arrayBuffer: () => Promise.reject(new Error('moved away')) }) as Blob;
  await expect(openCaptureBlob(gone, 'gone')).rejects.toThrow(/moved away.*Choose the file again/s);
});

it('layers have the queries that sizes name, the last among them', async () => {
  const capture = await openCaptureBlob(new Blob([bytes]), 'blob');
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, scale } = capture;
  const read = await capture.readLayer(0);
  const all = tokensFirst(read.query, queryHeads, capture.queries, keyHeadDim);
  const width = queryHeads * keyHeadDim;
  for (const [queries, stride] of [
    [32, 1],
    [5, 3],
  ] as const) {
    const sizes = {
      ...{ queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, scale },
      ...{ queries, stride },
    };
    const rotary = rotaryOf(capture.provenance, sizes);
    const layer = layerTensors(read, capture, { sizes, rotary });
    expect(layer.query).toHaveLength(queries * width);
    for (let row = 0; row < queries; row++) {
      const from = (positionOf(sizes, row) - tokens + capture.queries) * width;
      const kept = layer.query.subarray(row * width, (row + 1) * width);
      expect(kept).toEqual(all.subarray(from, from + width));
    }
  }
});

it('nothing below it imports Node or uses its globals', () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = readFileSync(path, 'utf8');
    expect(text, path).not.toMatch(/\b(Buffer|process)\b[.(]/);
    for (const [, kind, from] of text.matchAll(
      /^(?:import|export)( type)? [^;]*?from '([^']+)';/gm,
    )) {
      if (kind !== undefined) continue;
      expect(from, path).not.toMatch(/^node:/);
      if (from?.startsWith('.')) visit(join(dirname(path), from.replace(/\.js$/, '.ts')));
    }
  };
  visit(fileURLToPath(new URL('../src/browser.ts', import.meta.url)));
  expect(seen.size).toBeGreaterThan(20);
});
