// Case cache-beam-reorder: a reorder moves packed blocks, sinks and the f16 tail together.
import { expect, it } from 'vitest';
import { tokenIdRange } from '../../src/testing/index.js';
import { exactSchemes } from '../support/exact-schemes.js';
import {
  expectContents,
  expectMean32,
  expectPattern,
  openCache,
  pointerInput,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  beams: number;
  ops: (
    | { op: 'append'; count: number; ids: string }
    | { op: 'reorder'; map: number[]; ids?: undefined }
  )[];
}
const { input, expected } = loadCase<Input, { zeroQueryMean32: Record<string, number[]> }>(
  'cache-beam-reorder',
);

/** The formula of an append, for example `beam b: 5000 + 100*b + 0..2`. */
function idsOf(text: string, beam: number, count: number): number[] {
  const terms = text.replace('beam b: ', '').split(' + ');
  let first = 0;
  for (const term of terms) {
    if (term.includes('..')) continue;
    else if (term === 'b') first += beam;
    else if (term.endsWith('*b')) first += Number(term.slice(0, -2)) * beam;
    else first += Number(term);
  }
  return tokenIdRange(first, count);
}

const contents = [
  [...tokenIdRange(0, 70), ...tokenIdRange(5100, 3), 6000],
  [...tokenIdRange(0, 70), ...tokenIdRange(5100, 3), 6001],
  [...tokenIdRange(0, 70), ...tokenIdRange(5200, 3), 6002],
];

const schemes = [
  ...exactSchemes({ residual: 32 }),
  ...exactSchemes({ residual: 0, sinks: 4 }),
  ...exactSchemes({ residual: 128 }),
];

it.each(schemes)('$name', async ({ scheme }) => {
  const cache = await openCache(scheme);
  const beams = Array.from({ length: input.beams }, () => cache.createSequence());
  for (const operation of input.ops) {
    if (operation.op === 'reorder') {
      cache.reorder(beams, operation.map);
      continue;
    }
    const entries = beams.map((sequence, beam) => ({
      sequence,
      ids: idsOf(operation.ids, beam, operation.count),
    }));
    await cache.append(
      entries.map(({ sequence, ids }) => ({ sequence, tokens: ids.length })),
      [pointerInput(cache, entries)],
    );
  }
  for (const [beam, sequence] of beams.entries()) {
    const ids = contents[beam] as number[];
    await expectContents(cache, sequence, ids);
    await expectMean32(cache, sequence, expected.zeroQueryMean32[`beam${beam}`] as number[]);
    for (const id of [0, 31, 69, ids.at(70), ids.at(-1)])
      await expectPattern(cache, sequence, id as number);
  }
  for (const sequence of beams) cache.disposeSequence(sequence);
  expect((await cache.stats()).bytes.live).toBe(0);
});
