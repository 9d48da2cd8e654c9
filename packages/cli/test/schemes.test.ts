// `lowbit-kv schemes`.
import { expect, test } from 'vitest';
import { readOwnManifest } from '../src/manifest.js';
import { BUILTIN_PACKAGES, builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';

const ids = (await builtinSchemes()).map(({ scheme }) => scheme.id);

test('the shelf is what this package depends on, and its ids differ', () => {
  const dependencies = Object.keys(readOwnManifest().dependencies);
  const packages = dependencies.filter((name) => name.startsWith('@lowbit-kv/scheme-'));
  expect([...BUILTIN_PACKAGES].sort()).toEqual(packages.sort());
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(40);
});

test('the table has a row for every preset, and colours in a pipe only where they are forced', async () => {
  const { code, stdout, stderr } = await runCli(['schemes']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const id of ids) expect(stdout).toMatch(new RegExp(`^${id} `, 'm'));
  expect(stdout).not.toContain('\u001b');
  const forced = await runCli(['schemes'], { environment: { FORCE_COLOR: '1' } });
  expect(forced.stdout).toContain('\u001b[1m');
});

test('--json has exact numbers', async () => {
  const { code, stdout } = await runHere(['schemes', '--json']);
  expect(code).toBe(0);
  const list = JSON.parse(stdout);
  expect(list.reportVersion).toBe(1);
  expect(list.schemes.map(({ id }: { id: string }) => id)).toEqual(ids);
  const find = (id: string) => list.schemes.find((scheme: { id: string }) => scheme.id === id);
  // 2 bits and two f16 parameters for 32 elements.
  expect(find('kivi-2bit-g32')).toMatchObject({
    source: '@lowbit-kv/scheme-kivi',
    calibration: 'none',
    sinks: 0,
    key: { bits: 2, groups: '32 tokens', window: { recent: 0, flush: 128 } },
    value: { bits: 2, groups: '32 channels', window: { recent: 128, flush: 1 } },
    bitsPerElement: { codes: 2, parameters: 1, alignment: 0, total: 3 },
    refused: null,
  });
  // 4 bits, 7 f16 parameters for 128 channels with sign and magnitude, offsets and a tenth of entries.
  expect(find('oaken-sm').key).toMatchObject({
    outliers: 'bands',
    bitsPerElement: { codes: 4, outlierEntries: expect.closeTo(0.8, 9) },
    paperBitsPerElement: expect.closeTo(4 + 0.8 + 96 / 128, 9),
  });
});
