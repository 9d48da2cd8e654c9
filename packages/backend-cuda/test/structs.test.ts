// Structs as TypeScript writes them, against the C++ that kernels are compiled from.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { BAND_TENSOR, DECODE_JOB, ITEM, PAGE_ENTRY, REST_ENTRY } from '../src/attend/structs.js';
import { GENERAL_THREADS } from '../src/general/general-pack.js';
import {
  GENERAL_ATTENTION,
  GENERAL_CODES,
  GENERAL_JOB,
  GENERAL_MODES,
  GENERAL_TENSOR,
  GENERAL_TRANSFORM,
  LEVEL_SCALES,
  MEASURE_RULES,
  OUTLIER_ORDERS,
  STORED_TYPES,
  TRANSFORM_KINDS,
} from '../src/general/structs.js';
import { APPEND_JOB, CHECK_JOB, WRITE_JOB } from '../src/store/append-job.js';
import { IMPORT_JOB } from '../src/store/moves.js';

const HEADERS = {
  'job.cuh': {
    PageEntry: PAGE_ENTRY,
    Item: ITEM,
    RestEntry: REST_ENTRY,
    DecodeJob: DECODE_JOB,
    BandTensor: BAND_TENSOR,
  },
  'general-tensor.cuh': {
    GeneralTransform: GENERAL_TRANSFORM,
    GeneralTensor: GENERAL_TENSOR,
  },
  'general-attention.cuh': { GeneralAttention: GENERAL_ATTENTION },
  'general-tile.cuh': { GeneralJob: GENERAL_JOB },
  'move.cuh': { ImportJob: IMPORT_JOB, WriteJob: WRITE_JOB, CheckJob: CHECK_JOB },
  'append.cuh': { AppendJob: APPEND_JOB },
};

const ENUMERATIONS = {
  GeneralMode: GENERAL_MODES,
  GeneralCodes: GENERAL_CODES,
  LevelScale: LEVEL_SCALES,
  StoredType: STORED_TYPES,
  TransformKind: TRANSFORM_KINDS,
  MeasureRule: MEASURE_RULES,
  OutlierOrder: OUTLIER_ORDERS,
};

const kernels = fileURLToPath(new URL('../kernels/', import.meta.url));
const compiler = ['c++', 'g++', 'clang++'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);

/** Compiles and runs a program beside a header that stands for the toolkit's: only pointers to its type are used. */
function outputOf(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-structs-'));
  try {
    writeFileSync(join(folder, 'cuda_fp16.h'), '#pragma once\nstruct __half;\n');
    writeFileSync(join(folder, 'structs.cpp'), source);
    const program = join(folder, 'structs');
    const args = ['-std=c++17', `-I${folder}`, '-o', program, join(folder, 'structs.cpp')];
    const { status, stderr } = spawnSync(compiler!, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
    return spawnSync(program, { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.each(Object.entries(HEADERS))('kernels/%s', (file, structs) => {
  const header = kernels + file;

  it.each(Object.entries(structs))('%s has these fields', (name, { fields }) => {
    const text = readFileSync(header, 'utf8').replaceAll(/\/\/.*$/gm, '');
    const body = new RegExp(`struct ${name} \\{([^}]*)\\}`).exec(text)?.[1] ?? '';
    const names = [...body.matchAll(/(\w+)(?:\[\d+\])?;/g)].map(([, field]) => field);
    expect(names).toEqual(Object.keys(fields));
  });

  it.skipIf(compiler === undefined)('has them at these offsets', () => {
    const lines = Object.entries(structs).flatMap(([name, { fields }]) => [
      `  print("${name}", sizeof(${name}));`,
      ...Object.keys(fields).map(
        (field) => `  print("${name}.${field}", offsetof(${name}, ${field}));`,
      ),
    ]);
    const source = [
      '#include <cstddef>',
      '#include <cstdio>',
      `#include "${header}"`,
      'using namespace lowbit;',
      'static void print(const char* name, size_t bytes) { std::printf("%s %zu\\n", name, bytes); }',
      'int main() {',
      ...lines,
      '}',
    ].join('\n');
    const expected = Object.entries(structs).flatMap(([name, { bytes, fields }]) => [
      `${name} ${bytes}`,
      ...Object.entries(fields).map(([field, offset]) => `${name}.${field} ${offset}`),
    ]);
    expect(outputOf(source).trim().split('\n')).toEqual(expected);
  });
});

describe('kernels/general-tensor.cuh and outlier-words.cuh', () => {
  it.each(Object.entries(ENUMERATIONS))('%s has these names', (name, words) => {
    const text = ['general-tensor.cuh', 'outlier-words.cuh']
      .map((file) => readFileSync(kernels + file, 'utf8'))
      .join('\n');
    const body = new RegExp(`enum class ${name} : uint32_t \\{([^}]*)\\}`).exec(text)?.[1] ?? '';
    const plain = (word: string) => word.replaceAll(/[_\s]/g, '').toLowerCase();
    expect(body.split(',').map(plain)).toEqual(words.map(plain));
  });
});

it('blocks of general packing kernels have these threads', () => {
  const text = readFileSync(`${kernels}general-tile.cuh`, 'utf8');
  expect(text).toContain(`constexpr int GENERAL_THREADS = ${GENERAL_THREADS};`);
});
