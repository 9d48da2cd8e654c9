// `lowbit-kv estimate`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPlan, type Geometry, planBytes, type Scheme } from '@lowbit-kv/core';
import { F16 } from '@lowbit-kv/harness';
import { innerqBase } from '@lowbit-kv/scheme-innerq';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { describe, expect, test } from 'vitest';
import { configGeometry } from '../src/estimate/config-geometry.js';
import type { EstimatedRow, EstimateReport } from '../src/estimate/estimate-report.js';
import { sequenceBytes, tokensThatFit } from '../src/estimate/fit.js';
import { GEMMA_2_9B, LLAMA_3_1_8B, MISTRAL_7B, QWEN_2_5_7B } from './support/configs.js';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
const KIVI = kivi({ bits: 2, groupSize: 32 });

async function estimated(config: unknown, ...args: string[]): Promise<EstimateReport> {
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
  const line = ['estimate', '--config', 'config.json', ...args, '--json'];
  const { code, stdout, stderr } = await runHere(line, { directory });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

function rowOf({ schemes }: EstimateReport, id: string): EstimatedRow {
  const row = schemes.find((one) => one.id === id);
  if (row?.status !== 'estimated') throw new Error(`${id} is not estimated`);
  return row;
}

describe('config.json', () => {
  test.each<[string, object, Geometry]>([
    ['Llama 3.1 8B', LLAMA_3_1_8B, shape(32, 32, 8, 128)],
    ['Qwen2.5 7B, its window off', QWEN_2_5_7B, shape(28, 28, 4, 128)],
    ['Gemma 2 9B', GEMMA_2_9B, shape(42, 16, 8, 256, even(42))],
    ['Mistral 7B v0.1', MISTRAL_7B, shape(32, 32, 8, 128, first(32))],
    ['Mistral 7B v0.3', { ...MISTRAL_7B, sliding_window: null }, shape(32, 32, 8, 128)],
    [
      'a list of layer types wins over the type of the model',
      { ...GEMMA_2_9B, layer_types: [...Array(41).fill('full_attention'), 'sliding_attention'] },
      shape(42, 16, 8, 256, [41]),
    ],
    [
      'windows from a layer on',
      { ...QWEN_2_5_7B, use_sliding_window: true, max_window_layers: 26, sliding_window: 4096 },
      shape(28, 28, 4, 128, [26, 27]),
    ],
    ['a model of several parts', { text_config: LLAMA_3_1_8B }, shape(32, 32, 8, 128)],
  ])('%s', (_, config, geometry) => {
    expect(configGeometry(config, 'config.json').geometry).toEqual(geometry);
  });

  test.each<[object, string, RegExp]>([
    [without('num_hidden_layers'), 'MODEL_INVALID', /lacks num_hidden_layers/],
    [without('hidden_size'), 'MODEL_INVALID', /lacks head_dim.*hidden_size to divide/s],
    [{ ...LLAMA_3_1_8B, hidden_size: 4100 }, 'MODEL_INVALID', /multiple of 32 attention heads/],
    [{ ...LLAMA_3_1_8B, sliding_window: 512 }, 'MODEL_INVALID', /lacks layer_types/],
    [{ ...LLAMA_3_1_8B, kv_lora_rank: 512 }, 'MODEL_UNSUPPORTED', /kv_lora_rank/],
    [
      { ...LLAMA_3_1_8B, layer_types: Array(32).fill('linear_attention') },
      'MODEL_UNSUPPORTED',
      /"linear_attention"/,
    ],
  ])('%j is refused', async (config, code, message) => {
    writeFileSync(join(directory, 'bad.json'), JSON.stringify(config));
    const result = await runHere(['estimate', '--config', 'bad.json'], { directory });
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain(`error ${code}`);
    expect(result.stderr).toMatch(message);
  });
});

test('figures are those of the plan, for all sequences together', async () => {
  const report = await estimated(GEMMA_2_9B, '--tokens', '5000', '700', '--sequences', '3');
  const { geometry } = configGeometry(GEMMA_2_9B, '');
  expect(report).toMatchObject({ reportVersion: 1, geometry, maxPositions: 8192, memory: null });
  for (const scheme of [F16, KIVI]) {
    const plan = createPlan(scheme, geometry);
    const lengths = [700, 5000].map((tokens) => {
      const { total, f16Total } = planBytes(plan, tokens);
      const bytes = { bytes: 3 * total, f16Bytes: 3 * f16Total, ratio: f16Total / total };
      return { tokens, ...bytes, sequencesThatFit: null };
    });
    expect(rowOf(report, scheme.id)).toMatchObject({ lengths, tokensThatFit: null });
  }
  // 42 layers of 2 x 8 x 256 f16 elements a token; 21 of them see 4096 tokens at most.
  const f16 = 2 * 8 * 256 * 2 * 21 * (5000 + 4096);
  expect(rowOf(report, 'f16').lengths[1]?.f16Bytes).toBe(3 * f16);
});

describe('what fits', () => {
  const plain = shape(4, 4, 2, 64);
  const sliding = { ...plain, layerOverrides: [{ layers: [0, 2], slidingWindow: window(256) }] };
  const cases: [string, Scheme, Geometry][] = [
    ['f16', F16, plain],
    ['kivi', KIVI, plain],
    ['kivi, two of four layers sliding', KIVI, sliding],
    ['innerq with statistics', innerqBase, plain],
    ['innerq, two of four layers sliding', innerqBase, sliding],
  ];
  test.each(cases)(
    '%s: the first length that does not fit is the next one',
    (_, scheme, geometry) => {
      const plan = createPlan(scheme, geometry);
      const bytes = Array.from({ length: 3000 }, (_, tokens) => planBytes(plan, tokens).total);
      const bytesOf = sequenceBytes(plan);
      expect([1, 129, 1500].map(bytesOf)).toEqual([1, 129, 1500].map((tokens) => bytes[tokens]));
      let last = 0;
      for (let memory = 0; memory < (bytes.at(-1) as number) * 0.9; memory += 40_009) {
        const fits = tokensThatFit(plan, bytesOf, memory) as number;
        expect(fits).toBe(bytes.findIndex((size) => size > memory) - 1);
        expect(fits).toBeGreaterThanOrEqual(last);
        last = fits;
      }
      expect(last).toBeGreaterThan(1500);
    },
  );

  test('to the byte', () => {
    const plan = createPlan(F16, plain);
    const bytesOf = sequenceBytes(plan);
    // Pages of 32 tokens: keys and values of 4 layers, 2 heads of 64 channels.
    const page = 4 * 2 * 2 * 64 * 32 * 2;
    expect(tokensThatFit(plan, bytesOf, 1000 * page)).toBe(32_000);
    expect(tokensThatFit(plan, bytesOf, 1000 * page - 1)).toBe(31_968);
  });

  test('on the command line: tokens of each sequence, and sequences of each length', async () => {
    const report = await estimated(LLAMA_3_1_8B, '--memory', '24GiB', '--tokens', '8192');
    const memory = 24 * 2 ** 30;
    expect(report.memory).toBe(memory);
    // 128 KiB a token.
    expect(rowOf(report, 'f16')).toMatchObject({
      tokensThatFit: 196_608,
      lengths: [{ sequencesThatFit: 24 }],
    });
    const row = rowOf(report, 'kivi-2bit-g32');
    const bytesOf = (tokens: number) => planBytes(createPlan(KIVI, report.geometry), tokens).total;
    expect(bytesOf(row.tokensThatFit as number)).toBeLessThanOrEqual(memory);
    expect(bytesOf((row.tokensThatFit as number) + 1)).toBeGreaterThan(memory);
    const sequences = row.lengths[0]?.sequencesThatFit as number;
    expect(sequences * bytesOf(8192)).toBeLessThanOrEqual(memory);
    expect((sequences + 1) * bytesOf(8192)).toBeGreaterThan(memory);
    const halves = await estimated(LLAMA_3_1_8B, '--memory', '24GiB', '--sequences', '2');
    expect(rowOf(halves, 'f16').tokensThatFit).toBe(98_304);
  });

  test('where every layer slides any length fits, or hardly any', async () => {
    const large = rowOf(await estimated(MISTRAL_7B, '--memory', '1GB'), 'f16');
    expect(large).toMatchObject({ tokensThatFit: null, anyLengthFits: true });
    const small = rowOf(await estimated(MISTRAL_7B, '--memory', '100MB'), 'f16');
    // 23 pages of 32 tokens of 128 KiB.
    expect(small).toMatchObject({ tokensThatFit: 736, anyLengthFits: false });
  });
});

test('the table: 120 columns, a reason for what cannot be planned, a word about too many tokens', async () => {
  writeFileSync(join(directory, 'odd.json'), JSON.stringify({ ...GEMMA_2_9B, head_dim: 96 }));
  const line = ['estimate', '--config', 'odd.json', '--all', '--memory', '24GB'];
  const { code, stdout, stderr } = await runHere(line, { directory });
  expect(code).toBe(0);
  for (const text of stdout.split('\n')) expect(text.length).toBeLessThanOrEqual(120);
  expect(stdout).toMatch(/^scheme +bits +8192 tokens +ratio +32768 tokens +ratio +131072 tokens/m);
  expect(stdout).toMatch(/^in 24\.0 GB +tokens +sequences of 8192/m);
  expect(stdout).toMatch(/^kivi-2bit-g64 cannot be planned: SHAPE_UNSUPPORTED/m);
  expect(stderr).toBe('32768, 131072 tokens: more than the 8192 the model is made for.\n');
});

test('--markdown', async () => {
  const { code, stdout } = await runHere(['estimate', '--markdown', '--tokens', '8192']);
  expect(code).toBe(0);
  expect(stdout).toContain(
    '| scheme | bits | 8192 tokens | ratio |\n| --- | ---: | ---: | ---: |\n',
  );
  expect(stdout).toMatch(/^\| kivi-2bit-g32 \| 3\.000 \| 4\.88 MB \| 5\.16x \|$/m);
});

test('a scheme that cannot be planned alone is exit code 1', async () => {
  const { code, stdout } = await runHere(['estimate', '--scheme', 'kivi-2bit-g128']);
  expect(code).toBe(1);
  expect(stdout).toContain('kivi-2bit-g128 cannot be planned');
});

test.each<[string, number, RegExp]>([
  ['--memory 24', 2, /size up to 100TB such as 24GB/],
  ['--memory 0GB', 2, /size up to 100TB/],
  ['--tokens 0', 2, /positive integer/],
  ['--config a --geometry b', 2, /cannot be used with option/],
  ['--config missing.json', 1, /MODEL_INVALID: the config.json cannot be read.*ENOENT/],
  ['--geometry missing.json', 1, /GEOMETRY_INVALID.*ENOENT/s],
  ['--scheme kivvi', 1, /SCHEME_NOT_FOUND.*Did you mean "kivi"/s],
])('%s is refused', async (line, code, message) => {
  const result = await runHere(['estimate', ...line.split(' ')], { directory });
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(message);
});

test.each<[string, object, RegExp]>([
  ['layers without end', { num_hidden_layers: 1e9 }, /GEOMETRY_INVALID.*at most 1024/],
  ['heads without end', { num_attention_heads: 2 ** 30, head_dim: 8 }, /GEOMETRY_INVALID/],
  ['a type that every object has', { model_type: 'constructor' }, /config.json lacks layer_types/],
  ['another', { model_type: 'toString' }, /config.json lacks layer_types/],
])('a config.json with %s is refused', (_, fields, message) => {
  const config = { ...LLAMA_3_1_8B, sliding_window: 4096, ...fields };
  expect(() => configGeometry(config, 'config.json')).toThrow(message);
});

test('--help begins with examples', async () => {
  const help = await runHere(['estimate', '--help']);
  expect(help.stdout).toMatch(/^Examples:\n {2}\$ lowbit-kv estimate --config /);
});

function shape(
  layers: number,
  queryHeads: number,
  kvHeads: number,
  headDim: number,
  sliding: number[] = [],
): Geometry {
  return {
    ...{ layers, queryHeads, kvHeads, keyHeadDim: headDim, valueHeadDim: headDim },
    ...(sliding.length > 0 && {
      layerOverrides: [{ layers: sliding, slidingWindow: window(4096) }],
    }),
  };
}

function window(size: number) {
  return { size, sinks: 0 };
}

function first(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function even(count: number): number[] {
  return first(count).filter((i) => i % 2 === 0);
}

function without(field: keyof typeof LLAMA_3_1_8B): object {
  return Object.fromEntries(Object.entries(LLAMA_3_1_8B).filter(([name]) => name !== field));
}
