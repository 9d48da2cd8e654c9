// Growth is a failure; noise, and what is made once at the beginning, is none.
import { expect, it } from 'vitest';
import { csvLine, growth, type Sample, takeSample } from '../src/samples.js';

function samples(of: (i: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: 40 }, (_, i) => ({
    seconds: i,
    operations: 100 * i,
    residentMiB: 200,
    heapMiB: 40,
    handles: 1,
    files: 30,
    device: { buffers: 12 },
    ...of(i),
  }));
}

it.each<[string, (i: number) => Partial<Sample>, RegExp]>([
  ['resident memory', (i) => ({ residentMiB: 200 + 4 * i }), /^residentMiB grew from 240 to 320/],
  ['the heap', (i) => ({ heapMiB: 40 + i }), /^heapMiB/],
  ['handles', (i) => ({ handles: i >> 2 }), /^handles/],
  ['files', (i) => ({ files: 30 + (i >> 2) }), /^files/],
  ['buffers of a device', (i) => ({ device: { buffers: 12 + (i > 29 ? 1 : 0) } }), /^buffers/],
])('%s', (_, of, message) => {
  expect(growth(samples(of), true)).toEqual([expect.stringMatching(message)]);
});

it('noise, and what the first quarter makes', () => {
  expect(
    growth(
      samples((i) => ({ residentMiB: 200 + (i % 7) * 5 })),
      true,
    ),
  ).toEqual([]);
  expect(
    growth(
      samples((i) => ({ residentMiB: 100 + 20 * Math.min(i, 9) })),
      true,
    ),
  ).toEqual([]);
  expect(
    growth(
      samples((i) => ({ device: { buffers: i } })),
      false,
    ),
  ).toEqual([]);
});

it('a sample of this process', () => {
  const sample = takeSample(1.26, 7, { buffers: 3 });
  expect(sample.residentMiB).toBeGreaterThan(10);
  expect(csvLine(sample)).toMatch(/^1\.3,7,[\d.]+,[\d.]+,\d+,-?\d+,buffers=3$/);
});
