// The table of functions against cuda.h, where a CUDA toolkit is installed.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CU } from '../src/driver/constants.js';
import { type ArgumentType, CUDA_FUNCTIONS } from '../src/driver/functions.js';
import { RESULT } from '../src/driver/results.js';
import { compile, compiler, cudaHeader } from './support/compile-fake.js';

const header = cudaHeader === undefined ? '' : readFileSync(cudaHeader, 'utf8');

/** Prototype of the function that libcuda exports under `name`, which cuda.h may declare under another by a macro. */
function prototype(name: string): string[] {
  const macro = new RegExp(`^#define (\\w+)\\s+(?:__CUDA_API_PT[DS]Z?\\()?${name}\\b`, 'm').exec(
    header,
  );
  const plain = macro?.[1] ?? name;
  const pattern = (word: string) =>
    new RegExp(`^\\s*CUresult CUDAAPI ${word}\\(([^;]*)\\);`, 'm').exec(header)?.[1];
  const text = pattern(plain) ?? pattern(name);
  if (text === undefined) throw new Error(`cuda.h has no ${name}`);
  return text === 'void' ? [] : text.split(',').map((argument) => argument.trim());
}

/** What an argument of cuda.h may be in the table. */
function typesOf(argument: string): readonly ArgumentType[] {
  if (argument.includes('*')) return ['out', 'host', 'address'];
  const type = argument.replace(/\s*\w+$/, '');
  const known: Record<string, ArgumentType> = {
    'unsigned char': 'u8',
    'unsigned int': 'u32',
    'unsigned long long': 'u64',
    int: 'i32',
    size_t: 'size',
    CUdeviceptr: 'u64',
    CUdevice: 'i32',
    CUresult: 'i32',
  };
  if (known[type] !== undefined) return [known[type]];
  // Opaque handles are pointers; the rest are enumerations.
  const isHandle = new RegExp(`typedef struct \\w+ \\*${type};`).test(header);
  return [isHandle ? 'u64' : 'i32'];
}

describe.skipIf(cudaHeader === undefined)('cuda.h', () => {
  test.each(Object.entries(CUDA_FUNCTIONS))('%s', (name, types) => {
    const declared = prototype(name);
    expect(types).toHaveLength(declared.length);
    for (const [index, argument] of declared.entries())
      expect(typesOf(argument), argument).toContain(types[index]);
  });

  test('results have the numbers of cuda.h', () => {
    for (const [name, number] of Object.entries(RESULT)) {
      const full = name === 'SUCCESS' ? 'CUDA_SUCCESS' : `CUDA_ERROR_${name}`;
      expect(header, full).toMatch(new RegExp(`\\b${full}\\s*=\\s*${number},`));
    }
  });

  test('constants have the numbers of cuda.h', () => {
    for (const [name, number] of Object.entries(CU)) {
      const declared = new RegExp(`\\bCU_${name}\\s*=\\s*(\\w+)`).exec(header)?.[1];
      expect(Number(declared), name).toBe(number);
    }
  });

  test.skipIf(compiler === undefined)('the C fake has the prototypes and structs of cuda.h', () => {
    compile(['-fsyntax-only', '-include', cudaHeader!]);
  });
});
