// Shaders that CI cannot run are those that the last run on a GPU found right.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HASHES_FILE, type ShaderHashes, shaderHashes } from './support/shader-hashes.js';

it('are told apart by plan and precision', () => {
  const hashes = shaderHashes();
  expect(Object.keys(hashes).length).toBeGreaterThanOrEqual(12);
  expect(new Set(Object.values(hashes)).size).toBe(Object.keys(hashes).length);
});

it('have not changed since they last ran on a GPU', () => {
  const { hashes } = JSON.parse(readFileSync(HASHES_FILE, 'utf8')) as ShaderHashes;
  expect(shaderHashes(), 'run scripts/run-on-gpu.ts on a GPU with subgroups of 32').toEqual(hashes);
});
