/**
 * The canonical block: where codes, parameters and outliers of `blockTokens` tokens lie. docs/block-format.md draws it.
 */
import { LowbitKvError } from '../errors.js';
import type { ParameterType, QuantizedTensorScheme } from '../scheme.js';

/** Planes and head blocks start on multiples of this many bytes. */
export const PLANE_ALIGNMENT = 16;
/** Channels per chunk of the sparse outlier lists. */
export const OUTLIER_CHUNK = 64;

export type ParameterName =
  | 'scale'
  | 'zero'
  | 'middleMaximum'
  | 'middleMinimum'
  | 'middleStep'
  | 'outerMinimum'
  | 'outerStep'
  | 'innerMinimum'
  | 'innerStep';

/**
 * Codes: one row per channel (groups along tokens) or per token; code j of a row sits at bit `bits * j`, little endian. With
 * a codec one row per encoded group, in the order of parameter entries.
 */
export interface CodesPlane {
  readonly offset: number;
  readonly rows: 'channels' | 'tokens' | 'groups';
  readonly rowCount: number;
  readonly rowBytes: number;
}

/** Parameters of one kind, in group order: `[group, channel]`, `[token, group]` or `[token]`. */
export interface ParameterPlane {
  readonly name: ParameterName;
  readonly type: ParameterType;
  /** Bytes from the start of the head block, or of the shared plane. */
  readonly offset: number;
  /** Entries of a full block. */
  readonly count: number;
}

/** Outliers of a head: end offsets per token and chunk, then one byte per outlier, tokens in order. */
export interface SparsePlane {
  readonly endOffsets: {
    readonly offset: number;
    readonly entryBytes: 2 | 4;
    readonly chunks: number;
  };
  readonly entries: { readonly offset: number; readonly capacity: number };
}

/** Top outliers of a head: f16 values and their channels, `count` of each per slot, channels rising. */
export interface TopPlane {
  readonly count: number;
  readonly values: { readonly offset: number };
  readonly channels: { readonly offset: number; readonly entryBytes: 1 | 2 };
}

export interface BlockLayout {
  readonly blockTokens: number;
  readonly heads: number;
  readonly headDim: number;
  readonly bits: number;
  /** Tokens that share parameters: the group size along tokens, else 1. */
  readonly tokensPerGroup: number;
  /** Channels that share parameters. */
  readonly channelsPerGroup: number;
  readonly codes: CodesPlane;
  readonly parameters: readonly ParameterPlane[];
  /** True when the parameters are shared by all heads and lie in the plane after the head blocks. */
  readonly parametersShared: boolean;
  readonly sparse: SparsePlane | null;
  /** Absent without top outliers. */
  readonly top?: TopPlane;
  readonly headBytes: number;
  readonly sharedBytes: number;
  /** `heads * headBytes + sharedBytes`: one page of one layer and tensor. */
  readonly pageBytes: number;
}

export const PARAMETER_BYTES: Readonly<Record<ParameterType, number>> = {
  f16: 2,
  f32: 4,
  e4m3: 1,
  e8m0: 1,
};

/** Lays out a block. Throws SHAPE_UNSUPPORTED when the scheme does not fit the head dim. */
export function layoutBlock(
  scheme: QuantizedTensorScheme,
  shape: {
    readonly heads: number;
    readonly headDim: number;
    readonly blockTokens: number;
    readonly tensor: string;
  },
): BlockLayout {
  const { heads, headDim, blockTokens } = shape;
  const { groups } = scheme;
  if (groups.along === 'channels' && headDim % groups.size !== 0) {
    throw new LowbitKvError('SHAPE_UNSUPPORTED', {
      message: `the group size does not divide the head dim of the ${shape.tensor}s`,
      value: { groupSize: groups.size, headDim },
      valid: `group sizes ${divisors(headDim).join(', ')}`,
      next: 'Choose a preset with one of these group sizes, or override it for this model.',
    });
  }
  const needsPowerOfTwo = (scheme.transforms ?? []).some(
    (transform) => transform.kind === 'hadamard',
  );
  if (needsPowerOfTwo && !Number.isInteger(Math.log2(headDim))) {
    throw new LowbitKvError('SHAPE_UNSUPPORTED', {
      message: `a Hadamard rotation needs a head dim of a power of two in the ${shape.tensor}s`,
      value: headDim,
      valid: 'a power of two',
      next: 'Use a scheme without rotation for this model.',
    });
  }
  const alongTokens = groups.along === 'tokens';
  const tokensPerGroup = alongTokens ? groups.size : 1;
  const channelsPerGroup = groups.along === 'channels' ? groups.size : alongTokens ? 1 : headDim;
  const groupsPerBlock = (blockTokens / tokensPerGroup) * (headDim / channelsPerGroup);
  const shared = groups.along === 'vector' && groups.scope === 'allHeads';

  const codes = codesPlane(scheme, { headDim, blockTokens, groupsPerBlock });
  let end = align(codes.rowCount * codes.rowBytes, PLANE_ALIGNMENT);

  let sharedEnd = 0;
  const parameters = parameterNames(scheme).map((name): ParameterPlane => {
    const type = (name === 'zero' ? scheme.parameters.zero : scheme.parameters.scale) ?? 'f16';
    const offset = shared ? sharedEnd : end;
    const next = align(offset + groupsPerBlock * PARAMETER_BYTES[type], PLANE_ALIGNMENT);
    if (shared) sharedEnd = next;
    else end = next;
    return { name, type, offset, count: groupsPerBlock };
  });

  let sparse: SparsePlane | null = null;
  if (scheme.outliers?.kind === 'bands') {
    const chunks = Math.ceil(headDim / OUTLIER_CHUNK);
    const capacity = blockTokens * outliersPerVector(headDim, scheme.outliers.storage.reserve);
    const entryBytes = capacity <= 0xffff ? 2 : 4;
    const entriesOffset = align(end + blockTokens * chunks * entryBytes, PLANE_ALIGNMENT);
    sparse = {
      endOffsets: { offset: end, entryBytes, chunks },
      entries: { offset: entriesOffset, capacity },
    };
    end = align(entriesOffset + capacity, PLANE_ALIGNMENT);
  }
  let top: TopPlane | undefined;
  if (scheme.outliers?.kind === 'top') {
    const { count } = scheme.outliers;
    if (count > headDim) refuseCount(count, headDim, shape.tensor);
    const entryBytes = channelBytes(headDim);
    const channelsOffset = align(end + blockTokens * count * 2, PLANE_ALIGNMENT);
    top = {
      count,
      values: { offset: end },
      channels: { offset: channelsOffset, entryBytes },
    };
    end = align(channelsOffset + blockTokens * count * entryBytes, PLANE_ALIGNMENT);
  }
  return {
    blockTokens,
    heads,
    headDim,
    bits: scheme.bits,
    tokensPerGroup,
    channelsPerGroup,
    codes,
    parameters,
    parametersShared: shared,
    sparse,
    ...(top === undefined ? {} : { top }),
    headBytes: end,
    sharedBytes: sharedEnd,
    pageBytes: heads * end + sharedEnd,
  };
}

/** Of the channel of a top outlier. */
export function channelBytes(headDim: number): 1 | 2 {
  return headDim <= 256 ? 1 : 2;
}

function refuseCount(count: number, headDim: number, tensor: string): never {
  throw new LowbitKvError('SHAPE_UNSUPPORTED', {
    message: `a token of the ${tensor}s has fewer channels than outliers`,
    value: { count, headDim },
    valid: `at most ${headDim} outliers`,
    next: 'Choose a preset with fewer outliers, or override it for this model.',
  });
}

function codesPlane(
  { groups, quantizer, bits }: QuantizedTensorScheme,
  count: {
    readonly headDim: number;
    readonly blockTokens: number;
    readonly groupsPerBlock: number;
  },
): CodesPlane {
  const { headDim, blockTokens, groupsPerBlock } = count;
  if (quantizer.mode === 'codec')
    return { offset: 0, rows: 'groups', rowCount: groupsPerBlock, rowBytes: quantizer.groupBytes };
  const [rows, rowCount, width] =
    groups.along === 'tokens'
      ? (['channels', headDim, blockTokens] as const)
      : (['tokens', blockTokens, headDim] as const);
  return { offset: 0, rows, rowCount, rowBytes: align(width * bits, 32) / 8 };
}

/** Room per token of one head, shared by the tokens of a block: `reserve` per chunk, at most the channels there are. */
export function outliersPerVector(headDim: number, reserve: number): number {
  let room = 0;
  for (let first = 0; first < headDim; first += OUTLIER_CHUNK)
    room += Math.min(reserve, headDim - first, OUTLIER_CHUNK);
  return room;
}

/** Which parameters a group stores, in the order of their planes. */
export function parameterNames(scheme: QuantizedTensorScheme): readonly ParameterName[] {
  if (scheme.outliers?.kind === 'bands') {
    const outliers: ParameterName[] = ['outerMinimum', 'outerStep', 'innerMinimum', 'innerStep'];
    return scheme.quantizer.codes === 'midRise'
      ? ['middleMaximum', ...outliers]
      : ['middleMinimum', 'middleStep', ...outliers];
  }
  if (scheme.parameters.scale === undefined) return [];
  return scheme.quantizer.mode === 'symmetric' ? ['scale'] : ['scale', 'zero'];
}

function align(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

function divisors(value: number): number[] {
  const result: number[] = [];
  for (let i = 1; i <= value; i++) if (value % i === 0 && (i >= 8 || i === value)) result.push(i);
  return result;
}
