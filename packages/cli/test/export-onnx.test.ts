// `lowbit-kv export-onnx`: graphs that ONNX Runtime loads, the plan, the calibration.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Plan, parseCalibration } from '@lowbit-kv/core';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { InferenceSession } from 'onnxruntime-node';
import { beforeAll, expect, test } from 'vitest';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { TINY_CAPTURE, writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
beforeAll(() => writeTinyCapture(join(directory, 'tiny.safetensors')));

const exportOnnx = (...args: string[]) => runHere(['export-onnx', ...args], { directory });
const read = (...path: string[]) => readFileSync(join(directory, ...path));
const geometry = JSON.stringify({
  layers: 3,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
  layerOverrides: [{ layers: [-1], kvHeads: 4 }],
});

test('graphs of a geometry: once for equal layers, loadable, and listed', async () => {
  const args = ['--scheme', 'kivi-2bit-g32', '--geometry', geometry, '--out', 'a/b'];
  const { code, stdout } = await exportOnnx(...args);
  expect(code).toBe(0);
  const files = stdout.trim().split('\n');
  expect(files.every((file) => existsSync(file))).toBe(true);
  expect(files.map((file) => file.slice(directory.length + 5)).sort()).toEqual(
    readdirSync(join(directory, 'a/b')).sort(),
  );
  const equal = {
    encodeKey: 'layer-0-encode-key.onnx',
    encodeValue: 'layer-0-encode-value.onnx',
    attention: 'layer-0-attention.onnx',
  };
  expect(JSON.parse(read('a/b/graphs.json').toString())).toMatchObject({
    reportVersion: 1,
    scheme: 'kivi-2bit-g32',
    layers: [
      { layer: 0, ...equal },
      { layer: 1, ...equal },
      { layer: 2, attention: 'layer-2-attention.onnx' },
    ],
  });
  const plan = JSON.parse(read('a/b/plan.json').toString()) as Plan;
  expect(plan.layers[2]?.geometry.kvHeads).toBe(4);
  for (const file of files.filter((name) => name.endsWith('.onnx'))) {
    const session = await InferenceSession.create(readFileSync(file));
    expect(session.inputNames.length).toBeGreaterThan(0);
    await session.release();
  }
});

test('heads that are stored apart: files and entries of their own', async () => {
  const overrides = [{ layers: [1], heads: [1], key: { bits: 16 } }];
  const scheme = JSON.stringify({ ...kivi2, id: 'heads', overrides });
  writeFileSync(join(directory, 'heads.mjs'), `export default ${scheme};`);
  const { code } = await exportOnnx(
    '--scheme',
    './heads.mjs',
    '--geometry',
    geometry,
    '--out',
    'heads',
  );
  expect(code).toBe(0);
  const { layers } = JSON.parse(read('heads/graphs.json').toString());
  expect(layers).toMatchObject([
    { layer: 0, heads: [0, 1], encodeKey: 'layer-0-encode-key.onnx' },
    { layer: 1, heads: [0], encodeKey: 'layer-1-heads-0-encode-key.onnx' },
    { layer: 1, heads: [1], attention: 'layer-1-heads-1-attention.onnx' },
    { layer: 2, heads: [0, 1, 2, 3] },
  ]);
  expect(layers[2]).not.toHaveProperty('encodeKey');
});

test('a scheme with offline calibration is calibrated on the capture, and the values are written', async () => {
  const args = ['--scheme', 'oaken-sm', '--capture', 'tiny.safetensors', '--out', 'oaken'];
  const { code, stderr } = await exportOnnx(...args);
  expect(code).toBe(0);
  expect(stderr).toMatch(/oaken-sm is calibrated on the 200 tokens of .*tiny\.safetensors/);
  const calibration = parseCalibration(JSON.parse(read('oaken/calibration.json').toString()));
  expect(calibration.layers).toHaveLength(TINY_CAPTURE.layers.length);
  const thresholds = calibration.layers[0]?.key?.thresholds;
  expect(thresholds?.outerHigh).toBeGreaterThan(thresholds?.innerHigh as number);
  // The written file can be given back, for this capture and for another command.
  const again = await exportOnnx(
    ...args.slice(0, -1),
    'again',
    '--calibration',
    'oaken/calibration.json',
  );
  expect(again.code).toBe(0);
  expect(read('again/plan.json').equals(read('oaken/plan.json'))).toBe(true);
  const compared = await runHere(
    ['compare', '--scheme', 'oaken-sm', '--capture', 'tiny.safetensors', '--json'].concat(
      ...['--calibration', 'oaken/calibration.json'],
    ),
    { directory },
  );
  expect(JSON.parse(compared.stdout).schemes[1].calibration.source).toBe('given');
});

test.each<[string[], RegExp]>([
  [['--scheme', 'kivi'], /^error OPTION_INVALID: .*one scheme at a time.*kivi-2bit-g32/m],
  [['--scheme', 'oaken-sm', '--geometry', geometry], /^error CALIBRATION_MISSING/m],
  [['--scheme', 'kivi-2bit-g32', '--geometry', '{"layers":1'], /^error GEOMETRY_INVALID/m],
  [['--scheme', 'kivi-2bit-g32', '--geometry', '{"layers":1}'], /^error GEOMETRY_INVALID/m],
  [['--scheme', 'kivi-2bit-g32', '--geometry', 'no.json'], /^error GEOMETRY_INVALID.*no\.json/m],
])('%j fails and writes nothing', async (args, message) => {
  const { code, stdout, stderr } = await exportOnnx(...args, '--out', 'nothing');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
  expect(existsSync(join(directory, 'nothing'))).toBe(false);
});

test('a path that is a file cannot be the folder', async () => {
  writeFileSync(join(directory, 'taken'), '');
  const args = ['--scheme', 'kivi-2bit-g32', '--out', 'taken'];
  const { code, stdout, stderr } = await exportOnnx(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('OPTION_INVALID: --out cannot be made');
});
