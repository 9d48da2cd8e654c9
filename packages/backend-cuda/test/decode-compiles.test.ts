// Attention compiles for its architectures, within a budget of registers and nearly without spills. Needs nvcc.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { usageOf } from '../scripts/ptxas-report.js';

const HEADERS = ['decode', 'rows'].map((name) =>
  fileURLToPath(new URL(`../kernels/${name}.cuh`, import.meta.url)),
);
const hasCompiler = spawnSync('nvcc', ['--version']).status === 0;

const WIDE_KEYS = '{Tensor::KEY, 4, 128, Along::TOKENS, 128, true}';
const WIDE_VALUES = '{Tensor::VALUE, 4, 128, Along::CHANNELS, 128, true}';

/** Most registers, of 255 that 8 warps could have: more say that something is kept that was not before. */
const KERNELS = [
  {
    ...{ body: 'decode', warps: 8, spilledBytes: 0 },
    name: 'folded',
    keys: WIDE_KEYS,
    values: WIDE_VALUES,
    tiles: 1,
    registers: 200,
  },
  {
    ...{ body: 'decode', warps: 8, spilledBytes: 0 },
    name: 'wide',
    keys: WIDE_KEYS,
    values: WIDE_VALUES,
    tiles: 2,
    registers: 255,
  },
  {
    ...{ body: 'decode', warps: 8, spilledBytes: 0 },
    name: 'grouped',
    keys: '{Tensor::KEY, 3, 128, Along::CHANNELS, 32, false}',
    values: '{Tensor::VALUE, 2, 128, Along::TOKENS, 32, true, true}',
    tiles: 1,
    registers: 215,
  },
  {
    ...{ body: 'attendRows', warps: 12, spilledBytes: 0 },
    name: 'few_rows',
    keys: WIDE_KEYS,
    values: WIDE_VALUES,
    tiles: 1,
    registers: 168,
  },
  {
    // Sums take 128 of them; copies of 16 bytes a lane, of sm_80, some more.
    ...{ body: 'attendRows', warps: 8, spilledBytes: 256 },
    name: 'many_rows',
    keys: WIDE_KEYS,
    values: WIDE_VALUES,
    tiles: 2,
    registers: 255,
  },
] as const;

describe.skipIf(!hasCompiler)('attention', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-decode-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(elementsOf([80, 90], shareOfToday('architectures of attention', 2)))(
    'compiles for sm_%i',
    { timeout: 120_000 },
    (architecture) => {
      const source = join(folder, `decode-${architecture}.cu`);
      writeFileSync(source, sourceText());
      const { status, stderr, stdout } = spawnSync(
        'nvcc',
        [
          ...['-std=c++20', '-O3', '-cubin', '-Xptxas', '-v', '-Werror', 'all-warnings'],
          ...['-gencode', `arch=compute_${architecture},code=sm_${architecture}`],
          ...['-o', join(folder, 'decode.cubin'), source],
        ],
        { encoding: 'utf8' },
      );
      const report = stdout + stderr;
      expect(status, report).toBe(0);
      const usage = usageOf(report);
      expect([...usage.keys()].sort()).toEqual(KERNELS.map(({ name }) => name).sort());
      for (const { name, registers, spilledBytes } of KERNELS) {
        expect(usage.get(name)?.spilledBytes, name).toBeLessThanOrEqual(spilledBytes);
        expect(usage.get(name)?.registers, name).toBeLessThanOrEqual(registers);
        // What a kernel without a loop would need: the report is of something else.
        expect(usage.get(name)?.registers, name).toBeGreaterThan(100);
      }
    },
  );
});

function sourceText(): string {
  const kernels = KERNELS.map(
    ({ name, body, keys, values, tiles, warps }) => `
extern "C" __global__ void __launch_bounds__(LANES * ${warps}, 1) ${name}(const __grid_constant__ DecodeJob job) {
  ${body}<PageLayout${keys}, PageLayout${values}, ${tiles}, ${warps}>(job);
}`,
  );
  const headers = HEADERS.map((header) => `#include "${header}"`);
  return [...headers, 'using namespace lowbit;', ...kernels].join('\n');
}
