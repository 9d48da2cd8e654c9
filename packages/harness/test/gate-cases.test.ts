/** The cases accuracy-*: what a report that people trust must not let through. */
import { readFileSync } from 'node:fs';
import { f16Tensor, type HostTensor, type Tensor } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { baselineSums, divergence, negativeLogOf, rowSums } from '../src/eval/logit-row.js';
import type { CompareReport } from '../src/index.js';
import { errorSum, nmseOf, outputError } from '../src/metrics.js';
import { doctoredBackend, FORGET_PACKED } from './support/doctored-backend.js';
import { builtInFailures, compared, failuresOf } from './support/gates.js';
import { channelwise } from './support/schemes.js';

function loadCase(id: string) {
  const url = new URL(`../../../fixtures/cases/${id}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8'), (_, value) =>
    value === 'NaN' ? Number.NaN : value,
  );
}

describe('accuracy-finite-but-wrong', async () => {
  const { input, expected } = loadCase('accuracy-finite-but-wrong');
  const exact = Float64Array.from(input.reference.flat());
  const logSumExp = new Float64Array(8);
  const candidates = input.candidates as { name: string; values: number[][] }[];
  const honest = await compared([channelwise('candidate', 8)]);

  /** A report in which the candidate is the output of one head of 4 channels at 8 positions. */
  function reportOf(values: number[][]): CompareReport {
    const report = structuredClone(honest);
    const row = report.schemes[1];
    if (row?.status !== 'measured') throw new Error('not measured');
    row.output = outputError(
      [{ output: values.flat(), logSumExp }],
      [{ output: exact, logSumExp }],
      [7],
      {
        ...{ kvHeads: 1, queryHeads: 1, keyHeadDim: 4, valueHeadDim: 4 },
        ...{ tokens: 8, queries: 8, stride: 1 },
      } as Parameters<typeof outputError>[3],
    );
    return report;
  }

  it.each(candidates.map(({ name, values }, i) => [name, values, i] as const))(
    '%s',
    (_, values, i) => {
      const relative = Math.sqrt(nmseOf(errorSum(values.flat(), exact)));
      const wanted = expected.relErr[i];
      if (typeof wanted === 'number') expect(Math.abs(relative - wanted)).toBeLessThan(1e-9);
      else expect(relative).toBeNaN();
      const { relErr, maxAbs } = input.thresholds;
      const limits = [`output.mean>${relErr ** 2}`, `output.maxAbsError>${maxAbs}`];
      const failed = failuresOf(reportOf(values), ...limits);
      expect(failed).toHaveLength(expected.verdict[i] === 'fail' ? 2 : 0);
      for (const text of failed) expect(text).toMatch(/^candidate fails/);
    },
  );

  it('the worst row names the one row that is wrong', () => {
    const zeroRow = candidates.find(({ name }) => name === 'one row zero');
    expect(failuresOf(reportOf(zeroRow?.values ?? []), 'output.worstRow>=1')).toEqual([
      'candidate fails output.worstRow>=1: output.worstRow 1 at layer 7 head 0 position 3',
    ]);
  });
});

describe('accuracy-kld-and-top1', () => {
  const { input, expected } = loadCase('accuracy-kld-and-top1');
  /** In f32, as models give them: close to 1e-7 relative. */
  const logitsOf = (row: number[]) => Float32Array.from(row, Math.log);
  const FROM_F32 = 1e-7;

  function measured(base: Float32Array, other: Float32Array, target: number) {
    const sums = baselineSums(base, new Float32Array(base.length));
    const weights = new Float32Array(base.length);
    baselineSums(base, weights);
    const others = rowSums(other, weights);
    return {
      perplexity: Math.exp(negativeLogOf(others, other[target] as number)),
      divergence: divergence(sums, others),
      agrees: Number(sums.top === others.top),
    };
  }

  it.each([0, 1, 2])('row %i: perplexity can stay while the rest moves', (i) => {
    const row = measured(
      logitsOf(input.base[i]),
      logitsOf(input.quantized[i]),
      input.target[i] as number,
    );
    expect(Math.abs(row.perplexity / expected.perplexityQuantized[i] - 1)).toBeLessThan(FROM_F32);
    expect(Math.abs(row.divergence - expected.kld[i])).toBeLessThan(FROM_F32);
    expect(row.agrees).toBe(expected.top1Agreement[i]);
  });

  it('no floor under improbable tokens', () => {
    const { baseLogits, quantLogits } = input.logitsFloorTest;
    const row = measured(Float32Array.from(baseLogits), Float32Array.from(quantLogits), 0);
    expect(Math.abs(row.divergence - expected.logitsFloor.kld)).toBeLessThan(1e-12);
  });
});

describe('accuracy-cache-really-used', async () => {
  const four = channelwise('four', 4);
  const zeroed = (tensor: Tensor) => {
    const { data, shape } = tensor as HostTensor;
    return f16Tensor(new Uint16Array(data.length), shape);
  };
  const zeroedBoth = <Job extends { key: Tensor; value: Tensor }>(job: Job): Job => ({
    ...job,
    ...{ key: zeroed(job.key), value: zeroed(job.value) },
  });
  /** Every key and value that is stored, or attended to in its own step, is 0. */
  const sabotage = doctoredBackend({
    append: zeroedBoth,
    attend: ({ input, ...job }) => ({
      ...job,
      ...(input !== undefined && { input: zeroedBoth(input) }),
    }),
  });

  it('identity: f16 is exact, and equal to float64 up to the rounding of its output', async () => {
    const [f16] = (await compared([four])).schemes;
    if (f16?.status !== 'measured') throw new Error('not measured');
    expect([f16.key.nmse, f16.value.nmse]).toEqual([0, 0]);
    expect(f16.output.worstHead.nmse).toBeLessThan(1e-12);
  });

  it('sabotage: an output of 0 is an error of 1, and invalid', async () => {
    const report = await compared([four], sabotage);
    const row = report.schemes[1];
    if (row?.status !== 'measured') throw new Error('not measured');
    expect([row.key.nmse, row.value.nmse, row.output.nmse]).toEqual([1, 1, 1]);
    expect(builtInFailures(report)).toEqual([
      expect.stringMatching(/^four fails every gate: invalid: .*output-not-empty.*all zero/),
    ]);
  });

  it('sabotage of what is older than the window shows: the cache is read', async () => {
    const report = await compared([four], doctoredBackend(FORGET_PACKED));
    expect(builtInFailures(report)[0]).toMatch(/^four fails output\.worstHead>0\.25: .* layer \d/);
  });
});
