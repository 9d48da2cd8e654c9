// `lowbit-kv capture`: the file holds what the model computed, and other commands read it.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { decodeF16, roundToF16 } from '@lowbit-kv/core';
import { compareReportSchema, openCapture } from '@lowbit-kv/harness';
import { type LayerTensors, openCutDecoder, openModelFiles } from '@lowbit-kv/model-onnx';
import { describe, expect, test } from 'vitest';
import { causalAttend } from '../../model-onnx/test/support/causal-attention.js';
import { runHere } from './support/run-here.js';
import { TINY_HEADS, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { directory, here, path, textTokens } = tinyWorkspace();
const TOKENS = 150;
/** Progress is shown, without colours. */
const PROGRESS = { isTTY: true, environment: { NO_COLOR: '1' } };

const captured = (out: string, ...args: string[]) =>
  here('capture', ['--text', 'text.txt', '--tokens', String(TOKENS), '--out', out, ...args], {
    ...PROGRESS,
  });

/** What goes into attention, with attention in float64. */
async function layersOfModel(tokens: readonly number[]): Promise<LayerTensors[]> {
  const decoder = await openCutDecoder(await openModelFiles(path('model')), { threads: 1 });
  const attend = causalAttend(decoder);
  const layers: LayerTensors[] = [];
  await decoder.forward(tokens, {
    position: 0,
    attend: (layer, tensors) => {
      layers.push(tensors);
      return attend(layer, tensors);
    },
  });
  await decoder.dispose();
  return layers;
}

/** `found` is `[heads, rows, dim]`, `expected` `[rows, heads, dim]`. */
function expectClose(found: Float32Array, expected: Float32Array, heads: number): void {
  const { dim } = TINY_HEADS;
  const rows = expected.length / heads / dim;
  expect(found.length).toBe(expected.length);
  let worst = 0;
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < rows; row++)
      for (let i = 0; i < dim; i++) {
        const x = roundToF16(expected[(row * heads + head) * dim + i] as number);
        const y = found[(head * rows + row) * dim + i] as number;
        worst = Math.max(worst, Math.abs(x - y));
      }
  expect(worst).toBeLessThan(0.01);
  expect(expected.some((x) => Math.abs(x) > 1)).toBe(true);
}

describe('the file', () => {
  test('has keys, values, queries and keys before the rotary embedding', async () => {
    const { code, stderr } = await captured('all.safetensors', '--queries', '20');
    expect(code).toBe(0);
    expect(stderr).toMatch(/layer 2\/2: \d+ tokens\/s, 0 s left/);
    expect(stderr).toContain('use it with lowbit-kv compare --capture "all.safetensors"');

    const tokens = (await textTokens()).slice(0, TOKENS);
    const model = await layersOfModel(tokens);
    const capture = await openCapture(path('all.safetensors'));
    expect(capture).toMatchObject({
      layers: [0, 1],
      queryHeads: TINY_HEADS.query,
      kvHeads: TINY_HEADS.kv,
      keyHeadDim: TINY_HEADS.dim,
      tokens: TOKENS,
      queries: 20,
      scale: TINY_HEADS.dim ** -0.5,
      hasKeyPreRope: true,
      provenance: { model: 'model', text: expect.stringMatching(/^text\.txt, first 150 tokens/) },
    });
    for (const [i, expected] of model.entries()) {
      const layer = await capture.readLayer(i);
      const { kv, query, dim } = TINY_HEADS;
      expectClose(decodeF16(layer.key), expected.key, kv);
      expectClose(decodeF16(layer.value), expected.value, kv);
      const preRope = decodeF16(layer.keyPreRope ?? new Uint16Array());
      expectClose(preRope, expected.keyPreRope ?? new Float32Array(), kv);
      expectClose(layer.query, expected.query.subarray((TOKENS - 20) * query * dim), query);
    }
    await capture.close();
  });

  test('has fewer layers and no keys before the embedding where that is wanted', async () => {
    const out = 'one.safetensors';
    expect((await captured(out, '--layers', '1', '--no-pre-rope')).code).toBe(0);
    const capture = await openCapture(path(out));
    expect(capture).toMatchObject({ layers: [1], hasKeyPreRope: false, queries: 128 });
    await capture.close();
  });

  test('is read by compare, also for schemes that store keys before the embedding', async () => {
    const out = 'compared.safetensors';
    expect((await captured(out)).code).toBe(0);
    const { code, stdout } = await runHere(
      [
        ...['compare', '--capture', out, '--positions', '4', '--json'],
        ...['--scheme', 'kivi-2bit-g32', 'kivi-4bit-g32', 'kvquant-4bit'],
      ],
      { directory },
    );
    expect(code).toBe(0);
    const { schemes } = compareReportSchema.parse(JSON.parse(stdout));
    expect(schemes.map(({ id, status }) => `${id} ${status}`)).toEqual([
      ...['f16 measured', 'kivi-2bit-g32 measured', 'kivi-4bit-g32 measured'],
      'kvquant-4bit measured',
    ]);
  });
});

describe('refused, and nothing is written', () => {
  test.each<[readonly string[], RegExp]>([
    [['--layers', '0', '7'], /OPTION_INVALID: no such layers.*0 to 1/],
    [['--layers', '1', '1'], /OPTION_INVALID: no such layers/],
    [['--tokens', '100000'], /OPTION_INVALID: text\.txt is too short.*at least 100000/],
    [['--tokens', '3000'], /OPTION_INVALID.*2048/],
    [['--tokens', '200', '--queries', '201'], /OPTION_INVALID.*got 201; valid: 1 to 200/],
    [['--text', 'nowhere.txt'], /OPTION_INVALID: the text cannot be read/],
  ])('%j', async (args, message) => {
    const { code, stderr } = await captured('refused.safetensors', ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    // The model did not run.
    expect(stderr).not.toMatch(/layer \d\/2/);
    expect(existsSync(path('refused.safetensors'))).toBe(false);
  });

  test.each<[string, RegExp]>([
    ['capture.json', /--out cannot be written.*\.safetensors/],
    ['missing/folder.safetensors', /--out cannot be written.*missing/],
    ['other.safetensors', /--out cannot be written[\s\S]*holds something else/],
  ])('--out %s, before there is a model', async (out, message) => {
    await writeFiles(directory, { 'other.safetensors': 'not a capture' });
    const { code, stderr } = await captured(out, '--model', 'nowhere');
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(await readFile(path('other.safetensors'), 'utf8')).toBe('not a capture');
  });

  test('an interrupted run', async () => {
    const { code, stderr } = await here(
      'capture',
      ['--text', 'text.txt', '--tokens', '150', '--out', 'stopped.safetensors'],
      { ...PROGRESS, interruptAt: (text) => text.includes('layer 1/2') },
    );
    expect(code).toBe(130);
    expect(stderr).toMatch(/Interrupted\.\n$/);
    expect(existsSync(path('stopped.safetensors'))).toBe(false);
  });
});

test('an older capture is replaced', async () => {
  const out = 'again.safetensors';
  await captured(out, '--layers', '0');
  expect((await captured(out, '--layers', '1')).code).toBe(0);
  const capture = await openCapture(path(out));
  expect(capture.layers).toEqual([1]);
  await capture.close();
});
