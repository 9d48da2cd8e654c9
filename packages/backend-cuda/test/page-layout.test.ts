// The page layout in TypeScript: equal to layout.cuh, one place for every code and parameter, and a way there and back.
import { LowbitKvError, type PackedTensorPlan } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { PAGE_TOKENS } from '../src/attend/structs.js';
import { type PageShape, pageLayout, pageMover, pageShapeOf } from '../src/pages/page-layout.js';
import { buildHostProgram, compiler } from './support/pack/host-program.js';
import { allInstances, type Instance, nameOf, planOf } from './support/pack/instances.js';

const shapes: PageShape[] = (['key', 'value'] as const).flatMap((tensor) =>
  ([2, 3, 4, 8] as const).flatMap((bits) =>
    (bits === 3 ? [64, 128, 192, 256] : [32, 64, 96, 128, 160, 256]).flatMap((headDim) =>
      (['tokens', 'channels'] as const).flatMap((along) =>
        [32, 64, 128, headDim]
          .filter((size, i, all) => all.indexOf(size) === i)
          .filter((size) => (along === 'tokens' ? PAGE_TOKENS : headDim) % size === 0)
          .flatMap((groupSize) =>
            [false, true].map((hasZero) => ({
              ...{ tensor, bits, headDim, along, groupSize, hasZero },
              isHybrid: false,
            })),
          ),
      ),
    ),
  ),
);

/** What layout-host.cpp prints. */
function tableOf(shape: PageShape): Int32Array {
  const layout = pageLayout(shape);
  const table = [layout.bytes, layout.scaleByte, layout.zeroByte];
  for (let token = 0; token < PAGE_TOKENS; token++)
    for (let channel = 0; channel < shape.headDim; channel++)
      for (let bit = 0; bit < shape.bits; bit++) table.push(layout.codeBit(token, channel, bit));
  for (let group = 0; group < layout.groups; group++)
    for (let other = 0; other < layout.others; other++)
      table.push(layout.parameterPlace(group, other));
  return Int32Array.from(table);
}

test.skipIf(compiler === undefined)('layout.cuh says the same of all layouts', () => {
  const program = buildHostProgram('layout-host.cpp');
  try {
    const questions = shapes.flatMap(({ tensor, bits, headDim, along, groupSize, hasZero }) => [
      tensor === 'key' ? 0 : 1,
      bits,
      headDim,
      along === 'tokens' ? 0 : 1,
      groupSize,
      hasZero ? 1 : 0,
    ]);
    const answers = program.run(Buffer.from(Uint32Array.from(questions).buffer));
    let at = 0;
    for (const shape of shapes) {
      const table = Buffer.from(tableOf(shape).buffer);
      const answer = answers.subarray(at, at + table.length);
      at += table.length;
      expect(Buffer.compare(answer, table), JSON.stringify(shape)).toBe(0);
    }
    expect(answers.length).toBe(at);
  } finally {
    program.remove();
  }
});

test('codes and parameters have places of their own, inside the piece', () => {
  for (const shape of shapes) {
    const layout = pageLayout(shape);
    const codes = new Uint8Array(layout.scaleByte * 8);
    const places = tableOf(shape).subarray(3);
    const bits = PAGE_TOKENS * shape.headDim * shape.bits;
    for (const bit of places.subarray(0, bits)) codes[bit] = 1;
    expect(codes.every((taken) => taken === 1)).toBe(true);
    expect(codes.length).toBe(bits);
    const entries = [...places.subarray(bits)].sort((a, b) => a - b);
    expect(entries).toEqual(entries.map((_, i) => i));
    const planes = shape.hasZero ? 2 : 1;
    expect(layout.bytes).toBeGreaterThanOrEqual(layout.scaleByte + 2 * planes * entries.length);
  }
});

describe('blocks and pieces', () => {
  const some = allInstances().filter((_, i) => i % 7 === 0);

  test.each(some.map((instance) => ({ name: nameOf(instance), instance })))(
    '$name: there and back',
    ({ instance }) => {
      const plan = planOf(instance, 2);
      const mover = pageMover(plan);
      const noise = (i: number) => (i * 2654435761) >>> 13;
      const block = Uint8Array.from({ length: plan.layout.pageBytes }, (_, i) => noise(i));
      const pieces = [0, 1].map(() => new Uint8Array(mover.layout.bytes));
      for (const [head, piece] of pieces.entries())
        mover.toPiece(block, head, piece, 0, PAGE_TOKENS);
      expect(pieces[0]).not.toEqual(pieces[1]);
      const back = new Uint8Array(block.length);
      for (const [head, piece] of pieces.entries())
        mover.toBlock(piece, back, head, 0, PAGE_TOKENS);
      expect(back).toEqual(block);
    },
  );

  test('tokens outside the range stay as they are', () => {
    const instance: Instance = {
      tensor: 'value',
      bits: 4,
      along: 'channels',
      groupSize: 32,
      headDim: 64,
      packing: { mode: 'asymmetric' },
    };
    const mover = pageMover(planOf(instance, 1));
    const block = new Uint8Array(planOf(instance, 1).layout.pageBytes).fill(0xff);
    const piece = new Uint8Array(mover.layout.bytes);
    mover.toPiece(block, 0, piece, 40, 43);
    const ones = piece.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
    // Three tokens of 64 codes of 4 bits, and of two groups with scale and zero.
    expect(ones).toBe(3 * (64 * 4 + 2 * 2 * 16));
  });
});

test.each(['tokens', 'channels'] as const)(
  'hybrid groups along %s: codes around zero are turned, those over a minimum are not',
  (along) => {
    const instance: Instance = {
      ...{ tensor: 'value', bits: 4, along, groupSize: 32, headDim: 64 },
      packing: { mode: 'hybrid', codes: 'full', asymmetricBits: 4, tie: 'asymmetric' },
    };
    const plan = planOf(instance, 1);
    const mover = pageMover(plan);
    const block = new Uint8Array(plan.layout.pageBytes);
    const scales = plan.layout.parameters.find(({ name }) => name === 'scale')!;
    // The sign of a scale says that its group is over a minimum: of the first three groups.
    for (const entry of [0, 1, 2]) block[scales.offset + 2 * entry + 1] = 0x80;
    const piece = new Uint8Array(mover.layout.bytes);
    mover.toPiece(block, 0, piece, 0, PAGE_TOKENS);
    for (let token = 0; token < PAGE_TOKENS; token++) {
      for (let channel = 0; channel < 64; channel++) {
        const entry =
          along === 'tokens'
            ? Math.floor(token / 32) * 64 + channel
            : token * 2 + Math.floor(channel / 32);
        // A code of 0 around zero has its highest bit set in pages.
        const highest = mover.layout.codeBit(token, channel) + 3;
        const isSet = ((piece[highest >> 3] as number) >> (highest & 7)) & 1;
        expect(isSet, `token ${token}, channel ${channel}`).toBe(entry < 3 ? 0 : 1);
      }
    }
  },
);

test.each(['tokens', 'channels'] as const)(
  'pages of a block have the parameters of their own tokens, groups along %s',
  (along) => {
    const instance: Instance = {
      ...{ tensor: 'key', bits: 4, along, groupSize: 32, headDim: 64 },
      packing: { mode: 'asymmetric' },
    };
    const plan = planOf(instance, 1, 256);
    const mover = pageMover(plan);
    const block = new Uint8Array(plan.layout.pageBytes);
    for (const { offset } of plan.layout.parameters) {
      const entries = (256 * 64) / 32;
      // Scales and zeros of the second half of the tokens.
      block.fill(0xff, offset + entries, offset + 2 * entries);
    }
    const bytesSet = [0, 1].map((page) => {
      const piece = new Uint8Array(mover.layout.bytes);
      mover.toPiece(block, 0, piece, 0, PAGE_TOKENS, page);
      return piece.filter((byte) => byte !== 0).length;
    });
    expect(bytesSet).toEqual([0, 2 * 2 * ((PAGE_TOKENS * 64) / 32)]);
  },
);

test('what the layout does not hold is refused with a reason', () => {
  const plan = planOf(allInstances()[0] as Instance, 1);
  const one: PackedTensorPlan = { ...plan, scheme: { ...plan.scheme, bits: 1 } };
  const short: PackedTensorPlan = { ...plan, layout: { ...plan.layout, blockTokens: 64 } };
  for (const refused of [one, short]) {
    expect(() => pageShapeOf(refused)).toThrow(LowbitKvError);
    expect(() => pageShapeOf(refused)).toThrow(/no layout in fragment order/);
  }
});
