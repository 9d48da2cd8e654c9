/**
 * Where a page keeps codes and parameters of one head, kernels/layout.cuh in TypeScript: the map between canonical blocks and
 * pages, for export and import.
 */
import { type BlockLayout, LowbitKvError, type PackedTensorPlan } from '@lowbit-kv/core';
import { PAGE_TOKENS } from '../attend/structs.js';

/** Words that the lanes of a warp hold of 16 reduced elements of a stripe. */
const LANES = 32;
const PIECE_ALIGNMENT = 128;
/** Channels that keys of 3 bits come in multiples of. */
export const WIDE_ROW = 64;

/** What a layout depends on. */
export interface PageShape {
  readonly tensor: 'key' | 'value';
  readonly bits: 2 | 3 | 4 | 8;
  /** A multiple of 32; of 64 where keys have 3 bits. */
  readonly headDim: number;
  readonly along: 'tokens' | 'channels';
  readonly groupSize: number;
  /** Without zeros codes are around zero. */
  readonly hasZero: boolean;
  /** Groups say by the sign of their scale whether they are over their minimum or around zero. */
  readonly isHybrid: boolean;
}

/** Places in the piece of one head of a page. */
export interface PageLayout {
  readonly shape: PageShape;
  /** Of the piece: a multiple of 128. */
  readonly bytes: number;
  readonly scaleByte: number;
  /** Where zeros would be, when there are none. */
  readonly zeroByte: number;
  readonly groups: number;
  /** Channels of groups along tokens, tokens of groups along channels. */
  readonly others: number;
  /** Where bit `number` of a code is, from the first bit of the piece. Codes of all bits but 3 are in one run. */
  codeBit(token: number, channel: number, number?: number): number;
  /** Place in a plane of parameters. */
  parameterPlace(group: number, other: number): number;
}

export function pageLayout(shape: PageShape): PageLayout {
  const { tensor, bits, headDim, along, groupSize, hasZero, isHybrid } = shape;
  const isKey = tensor === 'key';
  const alongTokens = along === 'tokens';
  const fields = Math.floor(8 / bits);
  const outers = isKey ? PAGE_TOKENS : headDim;
  const reduced = isKey ? headDim : PAGE_TOKENS;
  const vector = reduced % 64 === 0 ? 4 : 2;
  const halves = reduced / 16;
  // With 3 bits every fourth word is in what the bytes of the three before it have left.
  const words = bits === 3 ? (halves / 4) * 3 : halves;
  const codeBytes = (outers / (8 * fields)) * words * LANES * 4;
  const groups = (alongTokens ? PAGE_TOKENS : headDim) / groupSize;
  const others = alongTokens ? headDim : PAGE_TOKENS;
  const planeBytes = 2 * groups * others;
  const isMetInHalves = isKey && alongTokens && bits === 2 && hasZero && !isHybrid && groups > 1;
  const end = codeBytes + planeBytes * (hasZero ? 2 : 1);

  /** Of 3 bits: word `number` of a lane and stripe. Vectors of 4, then one of 2, then one of 1. */
  function spreadWord(stripe: number, number: number, lane: number): number {
    const inFours = words - (words % 4);
    const inTwos = words % 4 >= 2 ? 2 : 0;
    const first = stripe * words * LANES;
    if (number < inFours) return first + (Math.floor(number / 4) * LANES + lane) * 4 + (number % 4);
    if (number < inFours + inTwos) return first + inFours * LANES + lane * 2 + (number % 2);
    return first + (inFours + inTwos) * LANES + lane;
  }

  function codeBit(token: number, channel: number, number = 0): number {
    const outer = isKey ? token : channel;
    const element = isKey ? channel : token;
    const half = element >> 4;
    const within = element & 15;
    // Four bytes to each lane t; values hold tokens in the order of movmatrix.
    const place = isKey ? within : 4 * ((within & 7) >> 1) + 2 * (within & 1) + (within >> 3);
    const stripe = Math.floor(outer / (8 * fields));
    const field = (outer >> 3) % fields;
    const lane = 4 * (outer & 7) + (place >> 2);
    const byte = 8 * (place & 3);
    const bit = bits * field + number;
    if (bits === 3) {
      const three = (half >> 2) * 3;
      if ((half & 3) < 3) return 32 * spreadWord(stripe, three + (half & 3), lane) + byte + bit;
      return 32 * spreadWord(stripe, three + (bit >> 1), lane) + byte + 6 + (bit & 1);
    }
    const vectors = stripe * (halves / vector) + Math.floor(half / vector);
    const word = (vectors * LANES + lane) * vector + (half % vector);
    return 32 * word + byte + bit;
  }

  function parameterPlace(group: number, other: number): number {
    const first = group * others;
    if (isKey && alongTokens) {
      const lane = (other & 15) >> 2;
      const place = isMetInHalves ? (other & 1) * 2 + ((other & 3) >> 1) : other & 3;
      return first + lane * (others / 4) + (other >> 4) * 4 + place;
    }
    return first + (other & 7) * (others / 8) + (other >> 3);
  }

  return {
    shape,
    bytes: Math.ceil(end / PIECE_ALIGNMENT) * PIECE_ALIGNMENT,
    scaleByte: codeBytes,
    zeroByte: codeBytes + planeBytes,
    groups,
    others,
    codeBit,
    parameterPlace,
  };
}

/** The shape of a tensor's pages. Throws PLAN_REFUSED for what the layout does not hold; `supports` asks before. */
export function pageShapeOf({ tensor, scheme, layout }: PackedTensorPlan): PageShape {
  const { bits, groups, parameters } = scheme;
  const { headDim, blockTokens } = layout;
  const { mode, codes } = scheme.quantizer;
  const fits =
    (bits === 2 || bits === 3 || bits === 4 || bits === 8) &&
    (groups.along !== 'vector' || groups.scope === 'head') &&
    mode !== 'codec' &&
    typeof codes === 'string' &&
    parameters.scale === 'f16' &&
    (parameters.zero ?? 'f16') === 'f16' &&
    blockTokens % PAGE_TOKENS === 0 &&
    headDim % (bits === 3 && tensor === 'key' ? WIDE_ROW : 32) === 0 &&
    scheme.outliers === undefined;
  if (!fits) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: `the ${tensor}s have no layout in fragment order`,
      value: { bits, groups, parameters, headDim, blockTokens, outliers: scheme.outliers },
      valid:
        '2, 3, 4 or 8 bits, uniform codes, groups along tokens, along channels or of a vector of a head, f16 parameters, a head dim that is a multiple of 32 (keys of 3 bits: 64), blocks of a multiple of 128 tokens, no outliers',
      next: 'Plan with blockTokens 128 and such a scheme, or use another backend.',
    });
  }
  const hasZero = layout.parameters.some(({ name }) => name === 'zero');
  const isHybrid = mode === 'hybrid';
  if (groups.along === 'vector')
    return { tensor, bits, headDim, along: 'channels', groupSize: headDim, hasZero, isHybrid };
  const { along, size: groupSize } = groups;
  return { tensor, bits, headDim, along, groupSize, hasZero, isHybrid };
}

/** Pages in fragment order that hold the tokens of a canonical block, one after another. */
export function pagesOfBlock({ layout }: PackedTensorPlan): number {
  return layout.blockTokens / PAGE_TOKENS;
}

/** Moves codes and parameters of one head; all other bytes stay as they are. */
export interface PageMover {
  readonly layout: PageLayout;
  /**
   * From a canonical block into the piece of a head of its page number `page`. The tokens of the page from `first` on to `end`,
   * which begin and end groups.
   */
  toPiece(
    block: Uint8Array,
    head: number,
    piece: Uint8Array,
    first: number,
    end: number,
    page?: number,
  ): void;
  /** The reverse. */
  toBlock(
    piece: Uint8Array,
    block: Uint8Array,
    head: number,
    first: number,
    end: number,
    page?: number,
  ): void;
}

export function pageMover(plan: PackedTensorPlan): PageMover {
  const page = pageLayout(pageShapeOf(plan));
  const { bits, isHybrid, hasZero, along, groupSize } = page.shape;
  // Bits of a code that are in one byte, in blocks and in pages.
  const run = bits === 3 ? 1 : bits;
  const mask = 2 ** run - 1;
  const isAround = modeOfGroups(page);

  /** `piece`: with the parameters of the codes. */
  function moveCodes(
    [from, fromBit]: Bits,
    [to, toBit]: Bits,
    piece: Uint8Array,
    first: number,
    end: number,
  ): void {
    for (let token = first; token < end; token++) {
      for (let channel = 0; channel < plan.headDim; channel++) {
        const isFlipped = !hasZero || (isHybrid && isAround(piece, token, channel));
        // Two's complement in blocks, over the lowest code in pages.
        const flip = isFlipped ? 1 << (bits - 1) : 0;
        for (let number = 0; number < bits; number += run) {
          const source = fromBit(token, channel, number);
          const target = toBit(token, channel, number);
          const some = ((from[source >> 3] as number) >> (source & 7)) ^ (flip >> number);
          const kept = (to[target >> 3] as number) & ~(mask << (target & 7));
          to[target >> 3] = kept | ((some & mask) << (target & 7));
        }
      }
    }
  }

  /** Calls back with the byte of each parameter in a block, from the head on, and in a piece. */
  function eachParameter(
    first: number,
    end: number,
    number: number,
    act: (inBlock: number, inPiece: number) => void,
  ): void {
    const alongTokens = along === 'tokens';
    for (const { name, offset } of plan.layout.parameters) {
      const plane = name === 'zero' ? page.zeroByte : page.scaleByte;
      for (let group = 0; group < page.groups; group++) {
        for (let other = 0; other < page.others; other++) {
          const token = alongTokens ? group * groupSize : other;
          if (token < first || token >= end) continue;
          // Blocks: [group, channel] along tokens, [token, group] along channels.
          const entry = alongTokens
            ? (number * page.groups + group) * page.others + other
            : (number * PAGE_TOKENS + other) * page.groups + group;
          act(offset + 2 * entry, plane + 2 * page.parameterPlace(group, other));
        }
      }
    }
  }

  return {
    layout: page,
    toPiece(block, head, piece, first, end, number = 0) {
      const base = head * plan.layout.headBytes;
      const source = block.subarray(base, base + plan.layout.headBytes);
      eachParameter(first, end, number, (inBlock, inPiece) =>
        copyHalf(source, inBlock, piece, inPiece),
      );
      const codeBit = blockCodeBit(plan.layout, number);
      moveCodes([source, codeBit], [piece, page.codeBit], piece, first, end);
    },
    toBlock(piece, block, head, first, end, number = 0) {
      const base = head * plan.layout.headBytes;
      const target = block.subarray(base, base + plan.layout.headBytes);
      const codeBit = blockCodeBit(plan.layout, number);
      moveCodes([piece, page.codeBit], [target, codeBit], piece, first, end);
      eachParameter(first, end, number, (inBlock, inPiece) =>
        copyHalf(piece, inPiece, target, inBlock),
      );
    },
  };
}

/** Where bit `number` of the code of a token and channel is. */
type BitOf = (token: number, channel: number, number: number) => number;
type Bits = readonly [Uint8Array, BitOf];

/** Whether the group of an element of a hybrid piece is around zero: the sign of its scale is clear. */
function modeOfGroups({ shape, scaleByte, parameterPlace }: PageLayout) {
  const alongTokens = shape.along === 'tokens';
  return (piece: Uint8Array, token: number, channel: number): boolean => {
    const [place, other] = alongTokens ? [token, channel] : [channel, token];
    const entry = parameterPlace(Math.floor(place / shape.groupSize), other);
    return ((piece[scaleByte + 2 * entry + 1] as number) & 0x80) === 0;
  };
}

/** In the head of a canonical block, of its page number `page`. */
function blockCodeBit({ codes, bits }: BlockLayout, page: number): BitOf {
  const row = 8 * codes.rowBytes;
  const tokenBits = codes.rows === 'channels' ? bits : row;
  const first = 8 * codes.offset + page * PAGE_TOKENS * tokenBits;
  return codes.rows === 'channels'
    ? (token, channel, number) => first + channel * row + token * bits + number
    : (token, channel, number) => first + token * row + channel * bits + number;
}

function copyHalf(from: Uint8Array, source: number, to: Uint8Array, target: number): void {
  to[target] = from[source] as number;
  to[target + 1] = from[source + 1] as number;
}
