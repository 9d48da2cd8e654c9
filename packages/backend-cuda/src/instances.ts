/**
 * The kernels there are, as data: docs/instances.md shows those of attention.
 */

/** What a kernel is compiled for in one tensor: uniform codes, one f16 scale a group, and one f16 zero where there is any. */
export interface TensorInstance {
  readonly bits: 2 | 3 | 4 | 8;
  readonly along: 'tokens' | 'channels';
  readonly groupSize: number;
  /** Codes are over a minimum; else they are around zero. */
  readonly hasZero: boolean;
  /** Each group is one or the other. */
  readonly isHybrid: boolean;
}

export interface KernelInstance {
  /** In the kernel images. */
  readonly name: string;
  readonly key: TensorInstance;
  readonly value: TensorInstance;
  /** Of keys and values. */
  readonly headDim: number;
  /** Most query heads of a block; blocks share those of a kv head. */
  readonly blockHeads: BlockHeads;
  /** Of a block, where its pages fit into shared memory; one block to a multiprocessor. */
  readonly warps: number;
}

/** A kernel that meets several query tokens of a sequence at once: their query heads of a kv head are its rows. */
export interface RowsInstance extends Layer {
  /** In the kernel images. */
  readonly name: string;
  /** Most rows of a block. */
  readonly rows: BlockRows;
  /** Of a block, where its pages fit into shared memory; one block to a multiprocessor. */
  readonly warps: number;
}

/** How elements become codes. */
export type Packing =
  | { readonly mode: 'asymmetric' }
  | { readonly mode: 'symmetric'; readonly codes: 'signmag' | 'full' | 'fullSigned' }
  | {
      readonly mode: 'hybrid';
      readonly codes: 'signmag' | 'full';
      readonly asymmetricBits: number;
      readonly tie: 'symmetric' | 'asymmetric';
    };

/** A way to pack one tensor. */
export interface PackInstance {
  readonly name: string;
  readonly tensor: 'key' | 'value';
  readonly shape: TensorInstance;
  readonly headDim: number;
  readonly packing: Packing;
  /** Multiplies channels with the statistics page of the sequence, where there is one. */
  readonly hasFactors: boolean;
}

/**
 * Attention over tokens whose outliers are told apart by bands, in pages that are canonical but for outliers: codes of sign and magnitude in the middle, parameters
 * of a token and head.
 */
export interface BandInstance {
  /** In the kernel images. */
  readonly name: string;
  /** Of keys and values. */
  readonly headDim: 64 | 128;
  /** Query heads of a block. */
  readonly blockHeads: 4;
  /** Of a block, where its pages fit into shared memory; one block to a multiprocessor. */
  readonly warps: number;
}

/** What appends to a layer: packs both tensors, and writes windows. */
export interface AppendInstance {
  /** In the kernel images. */
  readonly name: string;
  readonly key: PackInstance;
  readonly value: PackInstance;
}

export const BLOCK_HEADS = [4, 8] as const;
export type BlockHeads = (typeof BLOCK_HEADS)[number];

type Shape = Omit<TensorInstance, 'groupSize' | 'along'>;
type Layer = Pick<KernelInstance, 'key' | 'value' | 'headDim'>;

const over = (bits: TensorInstance['bits']): Shape => ({ bits, hasZero: true, isHybrid: false });
const around = (bits: TensorInstance['bits']): Shape => ({ bits, hasZero: false, isHybrid: false });
const either = (bits: TensorInstance['bits']): Shape => ({ bits, hasZero: true, isHybrid: true });

/** Keys by channel, values by token: groups across what attention sums over. */
function across(headDim: number, shape: Shape, groupSize: number): Layer {
  const key = { ...shape, along: 'tokens', groupSize } as const;
  return { headDim, key, value: { ...shape, along: 'channels', groupSize } };
}

/** Keys by token, values by channel: groups of 32 along what attention sums over. */
function along(headDim: number, key: Shape, value: Shape): Layer {
  const groupSize = 32;
  return {
    headDim,
    key: { ...key, along: 'channels', groupSize },
    value: { ...value, along: 'tokens', groupSize },
  };
}

/** Both by token. */
function byToken(headDim: number, shape: Shape, groupSize: number): Layer {
  const tensor = { ...shape, along: 'channels', groupSize } as const;
  return { headDim, key: tensor, value: tensor };
}

const NARROW = [2, 4] as const;

const LAYERS: readonly Layer[] = [
  ...NARROW.flatMap((bits) => [
    ...[32, 64, 128].map((size) => across(128, over(bits), size)),
    ...[32, 64].map((size) => across(64, over(bits), size)),
    across(96, over(bits), 32),
    ...[32, 128].map((size) => across(256, over(bits), size)),
  ]),
  ...[128, 64].flatMap((dim) => [
    along(dim, around(3), around(3)),
    along(dim, around(3), around(2)),
    along(dim, around(3), either(2)),
    along(dim, around(4), around(4)),
  ]),
  along(128, around(2), around(2)),
  ...NARROW.flatMap((bits) => [32, 64, 128].map((size) => byToken(128, over(bits), size))),
  // A token of a head is one group.
  byToken(64, over(4), 64),
  ...[64, 128].flatMap((dim) => [
    byToken(dim, around(4), dim),
    byToken(dim, over(8), dim),
    byToken(dim, around(8), dim),
  ]),
];

export const INSTANCES: readonly KernelInstance[] = LAYERS.flatMap((layer) =>
  BLOCK_HEADS.filter((heads) => heads === 4 || hasWideBlocks(layer)).map((heads) =>
    instance(layer, heads),
  ),
);

/**
 * Blocks of eight query heads read pages once where two of four read them twice. Larger heads leave no registers for them; pages
 * of 2 bits, and groups of 32 across, are bound by what is done with each page.
 */
function hasWideBlocks({ headDim, key, value }: Layer): boolean {
  if (headDim !== 128 || key.bits === 2) return false;
  return value.along === 'tokens' || (key.along === 'tokens' && key.groupSize > 32);
}

export const BAND_INSTANCES: readonly BandInstance[] = ([64, 128] as const).map((headDim) => ({
  name: `attend_bands_d${headDim}_h4`,
  headDim,
  blockHeads: 4,
  warps: 8,
}));

const BLOCK_ROWS = [16, 32] as const;
type BlockRows = (typeof BLOCK_ROWS)[number];

/** Fewer rows before more, for layers with an instance above whose scales fold into rows and weights. */
export const ROWS_INSTANCES: readonly RowsInstance[] = LAYERS.filter(
  ({ headDim, key, value }) =>
    headDim === 128 &&
    key.along === 'tokens' &&
    value.along === 'channels' &&
    key.bits === value.bits &&
    (NARROW as readonly number[]).includes(key.bits),
).flatMap((layer) =>
  BLOCK_ROWS.map((rows) => ({
    name: `rows_${layerName(layer)}_r${rows}`,
    ...layer,
    rows,
    // Twice the rows take nearly twice the registers.
    warps: rows === 16 ? 12 : 8,
  })),
);

/** One for every two ways to pack the tensors of a layer that attention meets. */
export const APPEND_INSTANCES: readonly AppendInstance[] = LAYERS.flatMap((layer) => {
  const [keys, values] = (['key', 'value'] as const).map((tensor) =>
    packingsOf(layer, tensor).map((packing) => packInstance(layer, tensor, packing)),
  ) as [PackInstance[], PackInstance[]];
  return keys.flatMap((key) =>
    values.map((value) => ({ name: `append_${key.name}_${value.name}`, key, value })),
  );
});

/** One for every way to pack a tensor that attention meets. */
export const PACK_INSTANCES: readonly PackInstance[] = [
  ...new Map(
    APPEND_INSTANCES.flatMap(({ key, value }) => [key, value]).map((one) => [one.name, one]),
  ).values(),
];

function packingsOf({ headDim, ...layer }: Layer, tensor: 'key' | 'value'): Packing[] {
  const { bits, hasZero, isHybrid, groupSize } = layer[tensor];
  if (isHybrid) {
    return [
      { mode: 'hybrid', codes: 'full', asymmetricBits: bits, tie: 'symmetric' },
      { mode: 'hybrid', codes: 'signmag', asymmetricBits: bits - 1, tie: 'asymmetric' },
    ];
  }
  if (hasZero) return [{ mode: 'asymmetric' }];
  const signmag: Packing = { mode: 'symmetric', codes: 'signmag' };
  // Scales that are folded into weights have no sign.
  if (groupSize === headDim) return [signmag];
  return [
    { mode: 'symmetric', codes: 'full' },
    { mode: 'symmetric', codes: 'fullSigned' },
    signmag,
  ];
}

function packInstance(layer: Layer, tensor: 'key' | 'value', packing: Packing): PackInstance {
  const { headDim, [tensor]: shape } = layer;
  const words = [`${tensor[0]}${tensorName(shape)}`, `d${headDim}`];
  if (packing.mode !== 'asymmetric') words.push(packing.codes);
  const hasFactors = tensor === 'key' && !shape.hasZero;
  return { name: words.join('_'), tensor, shape, headDim, packing, hasFactors };
}

function instance(layer: Layer, blockHeads: BlockHeads): KernelInstance {
  const name = `attend_${layerName(layer)}_h${blockHeads}`;
  return { name, ...layer, blockHeads, warps: warpsOf(layer, blockHeads) };
}

function layerName({ key, value, headDim }: Layer): string {
  return `k${tensorName(key)}_v${tensorName(value)}_d${headDim}`;
}

/**
 * Pages of 2 bits are smaller: more of them are on their way. More than eight warps leave too few registers for wide blocks and for
 * large heads.
 */
function warpsOf({ headDim, key, value }: Layer, blockHeads: BlockHeads): number {
  const isSmall = headDim <= 128 && key.bits === 2 && value.bits === 2;
  return blockHeads === 4 && isSmall ? 12 : 8;
}

function tensorName({ bits, along, groupSize, hasZero, isHybrid }: TensorInstance): string {
  const mode = isHybrid ? 'h' : hasZero ? 'z' : '';
  return `${bits}${along === 'tokens' ? 't' : 'c'}${groupSize}${mode}`;
}
