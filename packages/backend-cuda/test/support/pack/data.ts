/**
 * f16 data for the pack kernel: plain numbers, and what hurts.
 */
import { f32ToF16 } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';

/** f16 bits of a token and channel. */
type Kind = (token: number, channel: number, draw: () => number) => number;

const normal = (draw: () => number) => {
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += draw();
  return sum / 4096 - 6;
};

export const KINDS: Readonly<Record<string, Kind>> = {
  normal: (_, __, draw) => f32ToF16(normal(draw)),
  'large means and outlier channels': (_, channel, draw) =>
    f32ToF16(normal(draw) * (channel % 17 === 3 ? 12 : 1) + ((channel % 5) - 2) * 8),
  'any finite bits': (_, __, draw) => {
    const bits = anyBits(draw);
    return (bits & 0x7c00) === 0x7c00 ? bits ^ 0x4000 : bits;
  },
  'any bits': (_, __, draw) => anyBits(draw),
  // Of groups of 32, most have one number that is not finite.
  'some not finite': (_, __, draw) =>
    draw() % 40 === 0
      ? ([0x7c00, 0xfc00, 0x7e01, 0xfe00, 0x7c01][draw() % 5] as number)
      : f32ToF16(normal(draw)),
  'groups of nothing but NaN': (token, channel) =>
    (token >> 5) % 2 === (channel >> 5) % 2 ? 0x7e00 : 0x3c00 + channel,
  constant: (token, channel) => f32ToF16(((token >> 5) - 1.5) * (channel >> 5) * 0.40625),
  'zeros of both signs': (_, __, draw) => (draw() & 1) << 15,
  ties: (_, __, draw) => f32ToF16(((draw() % 31) - 15) / 16 + ((draw() >> 7) & 1) / 32),
  // Multiples of half a scale of 3/16, which has no exact reciprocal, in every group of four bits.
  'ties over the minimum': (token, channel, draw) => halfScales(token + channel, 15, draw),
  'ties around zero': (token, channel, draw) => halfScales(token + channel, 14, draw),
  'equal magnitudes of both signs': (_, __, draw) =>
    ((draw() & 0x800) << 4) | (0x3c00 + 0x100 * (draw() % 4)),
  subnormal: (_, __, draw) => ((draw() & 1) << 15) | (draw() & 0x3ff),
  'one subnormal among zeros': (token, channel) => ((token + channel) % 29 === 0 ? 1 : 0),
  'the whole range': (_, __, draw) => f32ToF16([-65504, 65504, (draw() - 2048) * 31][draw() % 3]!),
  'magnitudes far apart': (_, __, draw) => f32ToF16((draw() - 2048) / 2048 / 2 ** (draw() % 20)),
};

/** Multiples of 3/32; of 32 neighbours one is `most` of them below zero, one above. */
function halfScales(place: number, most: number, draw: () => number): number {
  const multiple = (draw() % (2 * most + 1)) - most;
  return f32ToF16((place % 32 === 0 ? -most : place % 32 === 1 ? most : multiple) * 0.09375);
}

function anyBits(draw: () => number): number {
  return ((draw() & 0xff) << 8) | (draw() & 0xff);
}

/** f16 bits `[tokens, heads, headDim]`; heads have different kinds, in turn. */
export function dataOf(
  kinds: readonly string[],
  { tokens, heads, headDim }: { tokens: number; heads: number; headDim: number },
  seed: number,
): Uint16Array {
  const draw = createDraws(seed);
  const data = new Uint16Array(tokens * heads * headDim);
  for (let token = 0, i = 0; token < tokens; token++) {
    for (let head = 0; head < heads; head++) {
      const kind = KINDS[kinds[head % kinds.length] as string] as Kind;
      for (let channel = 0; channel < headDim; channel++) data[i++] = kind(token, channel, draw);
    }
  }
  return data;
}
