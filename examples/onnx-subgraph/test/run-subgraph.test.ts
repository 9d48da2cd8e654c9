// The program as it stands: a plain session on the file gives the reference's attention.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runSubgraph } from '../run-subgraph.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-subgraph-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the file attends to packed blocks as the reference does', async () => {
  const file = join(folder, 'attention.onnx');
  const { shape, difference, logSumExpDifference, inputs } = await runSubgraph(file);
  expect(shape).toEqual([1, 8, 64]);
  // Both round float64 to float32 at the end; outputs are up to 1, the log-sum-exp is near 6.
  expect(difference).toBeLessThan(1e-6);
  expect(logSumExpDifference).toBeLessThan(2e-6);
  expect(inputs).toEqual(expect.arrayContaining(['key_pages', 'value_pages']));
  expect(readFileSync(file).length).toBeGreaterThan(1000);
});
