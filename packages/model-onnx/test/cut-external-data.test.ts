/**
 * Models whose weights lie in files beside them: the layouts of the case `onnx-external-data`.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openUncut } from '../src/decoder/uncut.js';
import { type ModelFiles, modelFromBytes, openModelFiles } from '../src/model/model-files.js';
import { expectCut, farthest, TOKENS } from './support/cut-and-whole.js';
import { runWhole } from './support/run-whole.js';
import { tinyDecoder, withExternalData } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

interface Layout {
  readonly model: string;
  readonly location: string | readonly string[];
  readonly present?: boolean;
  readonly length?: number;
  readonly fileSize?: number;
}

const fixture = new URL('../../../fixtures/cases/onnx-external-data.json', import.meta.url);
const { input, expected } = JSON.parse(await readFile(fixture, 'utf8')) as {
  readonly input: { readonly layouts: readonly Layout[] };
  readonly expected: { readonly results: readonly string[] };
};
const decoder = tinyDecoder(groupQuery());
let folder = '';
let whole = new Float32Array();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lowbit-kv-external-'));
  whole = Float32Array.from(await runWhole(decoder, TOKENS));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function expectLoads(files: ModelFiles): Promise<void> {
  await expectCut(await openCutDecoder(files), whole, 'float32');
  const uncut = await openUncut(files);
  const logits = new Float32Array(whole.length);
  await uncut.logits(TOKENS, (row, part) => logits.set(part, row * decoder.sizes.vocabulary));
  await uncut.dispose();
  expect(farthest(logits, whole)).toBe(0);
}

/** The model in a folder of its own, its data where `layout` says. */
async function written(layout: Layout, name: string): Promise<ModelFiles> {
  const place = join(folder, name, layout.model);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(join(dirname(place), 'config.json'), '{}');
  const { bytes, files } = withExternalData(decoder, [layout.location].flat());
  await writeFile(place, bytes);
  for (const [location, data] of Object.entries(files)) {
    if (layout.present === false) continue;
    const path = location.startsWith('/') ? null : join(dirname(place), location);
    if (path === null) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, data);
    // As much of it is there as of the file of the case.
    if (layout.fileSize !== undefined && layout.length !== undefined)
      await truncate(path, Math.floor((data.length * layout.fileSize) / layout.length));
  }
  return openModelFiles(place);
}

const REFUSALS: Readonly<Record<string, RegExp>> = {
  'typed error: names missing file and folder searched':
    /external data of the model is missing: model\.onnx_data, searched in \S*\/m\b/,
  'refuse: leaves the model folder': /external data leaves the model folder \S*\/m\b/,
  'refuse: absolute': /has an absolute path, which is refused.*\/abs\/w\.bin/,
  'typed error: needs 7680000 bytes, file has 2293760':
    /cut off: model\.onnx_data needs \d+ bytes, file has \d+/,
};

describe('the layouts of the case', () => {
  const layouts = input.layouts.map((layout, i) => [expected.results[i] ?? '', layout, i] as const);

  it.each(layouts)('%s, %o', async (result, layout, number) => {
    const refusal = REFUSALS[result];
    if (layout.model === 'bytes in memory') {
      const location = String(layout.location);
      const { bytes: model, files } = withExternalData(decoder, [location]);
      for (const externalData of [
        files,
        { [`./${location}`]: files[location] ?? new Uint8Array() },
      ])
        await expectLoads(modelFromBytes({ model, externalData }));
      await expect(openCutDecoder(modelFromBytes({ model }))).rejects.toThrow(
        /MODEL_INVALID.*model\.onnx_data was not given with its bytes/,
      );
    } else if (refusal === undefined) {
      expect(result).toMatch(/^load/);
      await expectLoads(await written(layout, `${number}`));
    } else {
      const files = await written(layout, `${number}`);
      for (const open of [openCutDecoder, openUncut]) {
        await expect(open(files)).rejects.toThrow(/^MODEL_INVALID/);
        await expect(open(files)).rejects.toThrow(refusal);
      }
    }
  });
});

it.each(['.', 'sub', 'pipe'])('refuses weights that are no file: %s', async (location) => {
  const place = join(folder, `no-file-${location}`);
  await mkdir(join(place, 'sub'), { recursive: true });
  execFileSync('mkfifo', [join(place, 'pipe')]);
  await writeFile(join(place, 'config.json'), '{}');
  await writeFile(join(place, 'model.onnx'), withExternalData(decoder, location).bytes);
  const files = await openModelFiles(place);
  await expect(openCutDecoder(files)).rejects.toThrow(/MODEL_INVALID: .* is no file:/);
});

it('has a fingerprint of the weights too', async () => {
  const other = tinyDecoder(groupQuery(), { seed: 2 });
  const fingerprints: string[] = [];
  for (const one of [decoder, other, decoder]) {
    const { bytes: model, files: externalData } = withExternalData(one, ['w']);
    const cut = await openCutDecoder(modelFromBytes({ model, externalData }));
    fingerprints.push(cut.fingerprint);
    await cut.dispose();
  }
  expect(fingerprints[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(fingerprints[2]).toBe(fingerprints[0]);
  expect(fingerprints[1]).not.toBe(fingerprints[0]);
});
