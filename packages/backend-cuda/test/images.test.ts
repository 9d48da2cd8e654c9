// The images that are shipped are those of the sources here, hold every kernel, and stay within their budget.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { kernelNames, sourceHash, TARGETS } from '../scripts/kernel-sources.js';
import { chooseImage } from '../src/driver/kernel-images.js';
import { kernelManifest, PARTS, partBytes } from '../src/images.js';

const FOLDER = fileURLToPath(new URL('../images/', import.meta.url));
const REGISTERS = 65_536;
const LANES = 32;
/** What a kernel that does its work cannot do without. */
const LEAST_REGISTERS = {
  attend: 100,
  rows: 100,
  bands: 100,
  pack: 30,
  move: 16,
  general: 16,
} as const;
/** That blocks want on a multiprocessor together. */
const TOGETHER_LANES = { pack: 1024, move: 1024, general: 768 } as const;
/** Of a lane, stores and loads: what the 168 registers of twelve warps leave out. */
const SPILLED_BYTES = {
  attend: 128,
  // Of blocks of 32 rows, whose sums are 128 of 255 registers. Before 9.0 copies of 16 bytes a lane take some more.
  rows: 320,
  bands: 0,
  pack: 0,
  move: 0,
  general: 32,
} as const;
const PACKAGE_BYTES = 20e6;

const manifest = kernelManifest();

it.each(TARGETS)('$name is built from these sources', (target) => {
  const { parts } = manifest.images.find(({ name }) => name === target.name)!;
  for (const part of PARTS)
    expect(parts[part].sources, 'run `pnpm build-kernels`').toBe(sourceHash(part, target));
});

it('that are missing are an error with a next step', () => {
  expect(() => kernelManifest(new URL('file:///nowhere/images/'))).toThrow(
    expect.objectContaining({
      code: 'KERNEL_IMAGE_INVALID',
      value: expect.stringContaining('nowhere'),
    }),
  );
});

it('are all there, and nothing else, in less than 20 MB', () => {
  expect(manifest.images.map(({ name }) => name)).toEqual(TARGETS.map(({ name }) => name));
  const files = readdirSync(FOLDER).sort();
  const parts = manifest.images.flatMap((image) => PARTS.map((part) => image.parts[part].file));
  expect(files).toEqual(['manifest.json', ...parts].sort());
  const sizes = files.map((file) => statSync(FOLDER + file).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(PACKAGE_BYTES);
});

const cases = manifest.images.flatMap((image) => PARTS.map((part) => [image.name, part] as const));

describe.each(cases)('%s, %s', (name, part) => {
  const image = manifest.images.find((candidate) => candidate.name === name)!;
  const { sha256, kernels } = image.parts[part];
  const bytes = partBytes(image.parts[part]);

  it('is what was built', () => {
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    const start = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
    if (image.kind === 'machineCode') expect(start).toBe('\x7fELF');
    else {
      const text = Buffer.from(bytes).toString();
      expect(text).toContain('.version 7.8');
      expect(text).toContain(`.target sm_${image.capability.major}${image.capability.minor}`);
      // The driver reads to the first zero.
      expect(text.indexOf('\0')).toBe(text.length - 1);
    }
  });

  it('has every kernel, within its registers', () => {
    expect(Object.keys(kernels)).toEqual(kernelNames(part));
    const text = Buffer.from(bytes).toString('latin1');
    for (const [kernel, { warps, registers, spilledBytes }] of Object.entries(kernels)) {
      expect(text).toContain(image.kind === 'ptx' ? `.entry ${kernel}(` : `.text.${kernel}\0`);
      expect(registers, kernel).toBeGreaterThan(LEAST_REGISTERS[part]);
      if (part === 'attend' || part === 'rows' || part === 'bands') {
        // Of 8 bits, or of head dim 256, little fits into 99 KiB.
        expect(warps, kernel).toBeGreaterThanOrEqual(2);
        expect(registers * LANES * (warps as number), kernel).toBeLessThanOrEqual(REGISTERS);
      } else expect(registers * TOGETHER_LANES[part], kernel).toBeLessThanOrEqual(REGISTERS);
      expect(spilledBytes, kernel).toBeLessThanOrEqual(SPILLED_BYTES[part]);
    }
  });
});

describe('a card takes', () => {
  const choice = (major: number, minor: number, version: number) =>
    chooseImage(manifest.images, { major, minor }, version).image?.name;

  it.each([
    [8, 0, 13_000, 'sm_80'],
    [8, 6, 13_000, 'sm_86'],
    [8, 9, 13_000, 'sm_89'],
    [9, 0, 13_000, 'sm_90'],
    [9, 0, 12_040, 'ptx_80'],
    [12, 0, 13_000, 'ptx_80'],
    [7, 5, 13_000, undefined],
    [9, 0, 11_040, undefined],
  ])('%i.%i with a driver for %i: %s', (major, minor, version, name) => {
    expect(choice(major, minor, version)).toBe(name);
  });
});
