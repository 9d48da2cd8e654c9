/**
 * Where a page keeps codes and parameters of one head, kernels/layout.cuh in TypeScript: the map between canonical blocks and
 * pages, for export and import.
 */
import { type BlockLayout, LowbitKvError, type PackedTensorPlan } from '@lowbit-kv/core';
import { PAGE_TOKENS } from '../attend/structs.js';

/** Words that the lanes of a warp hold of 16 reduced elements of a stripe. */
const LANES = 32;
const PIECE_ALIGNMENT = 128;

/** What a layout depends on. */
export interface PageShape {
  readonly tensor: 'key' | 'value';
  readonly bits: 2 | 4 | 8;
  /** A multiple of 32. */
  readonly headDim: number;
  readonly along: 'tokens' | 'channels';
  readonly groupSize: number;
  readonly hasZero: boolean;
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
  /** Bit of a code, from the first bit of the piece. */
  codeBit(token: number, channel: number): number;
  /** Place in a plane of parameters. */
  parameterPlace(group: number, other: number): number;
}

export function pageLayout(shape: PageShape): PageLayout {
  const { tensor, bits, headDim, along, groupSize, hasZero } = shape;
  const isKey = tensor === 'key';
  const alongTokens = along === 'tokens';
  const fields = 8 / bits;
  const outers = isKey ? PAGE_TOKENS : headDim;
  const reduced = isKey ? headDim : PAGE_TOKENS;
  const vector = reduced % 64 === 0 ? 4 : 2;
  const halves = reduced / 16;
  const codeBytes = (outers / (8 * fields)) * halves * LANES * 4;
  const groups = (alongTokens ? PAGE_TOKENS : headDim) / groupSize;
  const others = alongTokens ? headDim : PAGE_TOKENS;
  const planeBytes = 2 * groups * others;
  const end = codeBytes + planeBytes * (hasZero ? 2 : 1);

  function codeBit(token: number, channel: number): number {
    const outer = isKey ? token : channel;
    const element = isKey ? channel : token;
    const half = element >> 4;
    const within = element & 15;
    // Four bytes to each lane t; values hold tokens in the order of movmatrix.
    const place = isKey ? within : 4 * ((within & 7) >> 1) + 2 * (within & 1) + (within >> 3);
    const stripe = Math.floor(outer / (8 * fields));
    const field = (outer >> 3) % fields;
    const lane = 4 * (outer & 7) + (place >> 2);
    const vectors = stripe * (halves / vector) + Math.floor(half / vector);
    const word = (vectors * LANES + lane) * vector + (half % vector);
    return 32 * word + 8 * (place & 3) + bits * field;
  }

  function parameterPlace(group: number, other: number): number {
    const first = group * others;
    if (isKey && alongTokens) {
      const lane = (other & 15) >> 2;
      return first + lane * (others / 4) + (other >> 4) * 4 + (other & 3);
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
  const fits =
    (bits === 2 || bits === 4 || bits === 8) &&
    groups.along !== 'vector' &&
    parameters.scale === 'f16' &&
    (parameters.zero ?? 'f16') === 'f16' &&
    blockTokens === PAGE_TOKENS &&
    headDim % 32 === 0 &&
    scheme.outliers === undefined;
  if (!fits) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: `the ${tensor}s have no layout in fragment order`,
      value: { bits, groups, parameters, headDim, blockTokens, outliers: scheme.outliers },
      valid:
        '2, 4 or 8 bits, groups along tokens or channels, f16 parameters, a head dim that is a multiple of 32, blocks of 128 tokens, no outliers',
      next: 'Plan with blockTokens 128 and such a scheme, or use another backend.',
    });
  }
  const hasZero = layout.parameters.some(({ name }) => name === 'zero');
  return { tensor, bits, headDim, along: groups.along, groupSize: groups.size, hasZero };
}

/** Moves codes and parameters of one head; all other bytes stay as they are. */
export interface PageMover {
  readonly layout: PageLayout;
  /** From a canonical block into the piece of a head. The tokens from `first` on to `end`, which begin and end groups. */
  toPiece(block: Uint8Array, head: number, piece: Uint8Array, first: number, end: number): void;
  /** The reverse. */
  toBlock(piece: Uint8Array, block: Uint8Array, head: number, first: number, end: number): void;
}

export function pageMover(plan: PackedTensorPlan): PageMover {
  const page = pageLayout(pageShapeOf(plan));
  const { bits } = page.shape;
  const mask = 2 ** bits - 1;
  const codeBit = blockCodeBit(plan.layout);

  function moveCodes([from, fromBit]: Bits, [to, toBit]: Bits, first: number, end: number): void {
    for (let token = first; token < end; token++) {
      for (let channel = 0; channel < plan.headDim; channel++) {
        const source = fromBit(token, channel);
        const target = toBit(token, channel);
        const code = ((from[source >> 3] as number) >> (source & 7)) & mask;
        const kept = (to[target >> 3] as number) & ~(mask << (target & 7));
        to[target >> 3] = kept | (code << (target & 7));
      }
    }
  }

  /** Calls back with the byte of each parameter in a block, from the head on, and in a piece. */
  function eachParameter(
    first: number,
    end: number,
    act: (inBlock: number, inPiece: number) => void,
  ): void {
    const { along, groupSize } = page.shape;
    const alongTokens = along === 'tokens';
    for (const { name, offset } of plan.layout.parameters) {
      const plane = name === 'zero' ? page.zeroByte : page.scaleByte;
      for (let group = 0; group < page.groups; group++) {
        for (let other = 0; other < page.others; other++) {
          const token = alongTokens ? group * groupSize : other;
          if (token < first || token >= end) continue;
          // Blocks: [group, channel] along tokens, [token, group] along channels.
          const entry = alongTokens ? group * page.others + other : other * page.groups + group;
          act(offset + 2 * entry, plane + 2 * page.parameterPlace(group, other));
        }
      }
    }
  }

  return {
    layout: page,
    toPiece(block, head, piece, first, end) {
      const base = head * plan.layout.headBytes;
      const source = block.subarray(base, base + plan.layout.headBytes);
      moveCodes([source, codeBit], [piece, page.codeBit], first, end);
      eachParameter(first, end, (inBlock, inPiece) => copyHalf(source, inBlock, piece, inPiece));
    },
    toBlock(piece, block, head, first, end) {
      const base = head * plan.layout.headBytes;
      const target = block.subarray(base, base + plan.layout.headBytes);
      moveCodes([piece, page.codeBit], [target, codeBit], first, end);
      eachParameter(first, end, (inBlock, inPiece) => copyHalf(piece, inPiece, target, inBlock));
    },
  };
}

/** Bytes, and where in them the code of a token and channel is. */
type Bits = readonly [Uint8Array, (token: number, channel: number) => number];

/** Bit of a code in the head of a canonical block. */
function blockCodeBit({ codes, bits }: BlockLayout): (token: number, channel: number) => number {
  const first = 8 * codes.offset;
  const row = 8 * codes.rowBytes;
  return codes.rows === 'channels'
    ? (token, channel) => first + channel * row + token * bits
    : (token, channel) => first + token * row + channel * bits;
}

function copyHalf(from: Uint8Array, source: number, to: Uint8Array, target: number): void {
  to[target] = from[source] as number;
  to[target + 1] = from[source + 1] as number;
}
