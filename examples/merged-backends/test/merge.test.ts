// The program as it stands: parts on two backends, merged, are one backend over all; a part alone is not.
import { expect, test } from 'vitest';
import { attendInParts, largestDifference } from '../merge.js';

test('the merge of two backends equals one backend over the whole context', async () => {
  const { parts, merged, expected } = await attendInParts();
  expect(merged.output.shape).toEqual([1, 8, 64]);
  // Parts come as float32, and outputs are up to 1.
  expect(largestDifference(merged.output, expected.output)).toBeLessThan(1e-6);
  expect(largestDifference(merged.logSumExp, expected.logSumExp)).toBeLessThan(2e-6);
  for (const part of parts)
    expect(largestDifference(part.output, expected.output)).toBeGreaterThan(1e-3);
});
