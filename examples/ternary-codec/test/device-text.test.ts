// The CUDA text compiles, and run as C++ it gives the bytes and values of the TypeScript law.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ternary, ternaryCodec } from '../src/index.js';
import { sampleGroups } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-ternary-text-'));
afterAll(() => rmSync(folder, { recursive: true }));

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

function run(program: string, args: readonly string[], input?: Uint8Array): Buffer {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, input });
  if (error !== undefined) throw error;
  expect({ status, stderr: stderr.toString() }).toMatchObject({ status: 0 });
  return stdout;
}

const definitions = (size: number, bytes: number) => `#define GROUP_SIZE ${size}
#define GROUP_BYTES ${bytes}
`;

const KERNELS = `
extern "C" __global__ void encode(const float* values, unsigned char* bytes) {
  encodeGroup(values + blockIdx.x * GROUP_SIZE, bytes + blockIdx.x * GROUP_BYTES);
}
extern "C" __global__ void decode(const unsigned char* bytes, float* values) {
  decodeGroup(bytes + blockIdx.x * GROUP_BYTES, values + blockIdx.x * GROUP_SIZE);
}
`;

/** Reads groups of floats; writes the bytes of each and what they decode to. */
const PROGRAM = `
int main() {
  float values[GROUP_SIZE];
  unsigned char bytes[GROUP_BYTES];
  while (fread(values, 4, GROUP_SIZE, stdin) == GROUP_SIZE) {
    memset(bytes, 0xff, GROUP_BYTES);
    encodeGroup(values, bytes);
    memset(values, 0xff, sizeof values);
    decodeGroup(bytes, values);
    fwrite(bytes, 1, GROUP_BYTES, stdout);
    fwrite(values, 4, GROUP_SIZE, stdout);
  }
}
`;

describe.each([8, 32, 64, 80, 256])('groups of %i', (size) => {
  const codec = ternaryCodec(size);
  const text = `${definitions(size, codec.groupBytes)}${codec.cuda}`;

  test.skipIf(!isInstalled('g++'))('run as C++ it is the law, byte for byte (needs g++)', () => {
    const source = `#include <cstdio>\n#include <cstring>\n#define __device__\n${text}${PROGRAM}`;
    writeFileSync(join(folder, `ternary-${size}.cpp`), source);
    run('g++', ['-O2', '-Wall', '-o', `ternary-${size}`, `ternary-${size}.cpp`]);
    const groups = sampleGroups(size);
    const input = new Float32Array(groups.length * size);
    for (const [i, group] of groups.entries()) input.set(group, i * size);
    const output = run(join(folder, `ternary-${size}`), [], new Uint8Array(input.buffer));
    const record = codec.groupBytes + 4 * size;
    expect(output.length).toBe(groups.length * record);
    for (const [i, group] of groups.entries()) {
      const bytes = new Uint8Array(codec.groupBytes);
      codec.encodeGroup(group, bytes);
      const values = new Float32Array(size);
      codec.decodeGroup(bytes, values);
      const given = output.subarray(i * record, (i + 1) * record);
      expect(new Uint8Array(given.subarray(0, bytes.length))).toEqual(bytes);
      expect(new Uint8Array(given.subarray(bytes.length))).toEqual(new Uint8Array(values.buffer));
    }
  });
});

test.skipIf(!isInstalled('nvcc'))('nvcc compiles the CUDA text (needs nvcc on PATH)', () => {
  for (const { id, groupSize, groupBytes, cuda } of ternary.codecs ?? []) {
    const source = `${definitions(groupSize, groupBytes)}${cuda}${KERNELS}`;
    writeFileSync(join(folder, `${id}.cu`), source);
    run('nvcc', ['--ptx', '-o', `${id}.ptx`, `${id}.cu`]);
    const ptx = readFileSync(join(folder, `${id}.ptx`), 'utf8');
    expect(ptx).toMatch(/\.entry encode\(/);
    expect(ptx).toMatch(/\.entry decode\(/);
  }
});

test('the WGSL text defines what a kernel calls', () => {
  for (const { wgsl } of ternary.codecs ?? []) {
    expect(wgsl).toContain('fn decodeGroup(firstByte: u32) -> array<f32, GROUP_SIZE>');
    expect(wgsl).toContain(
      'fn encodeGroup(values: array<f32, GROUP_SIZE>) -> array<u32, GROUP_WORDS>',
    );
  }
});
