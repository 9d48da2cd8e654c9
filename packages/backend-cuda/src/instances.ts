/**
 * The attention kernels there are, as data: docs/instances.md shows them.
 */

/** What a kernel is compiled for in one tensor: uniform codes, one f16 scale a group, and one f16 zero where there is any. */
export interface TensorInstance {
  readonly bits: 2 | 4;
  readonly along: 'tokens' | 'channels';
  readonly groupSize: number;
  readonly hasZero: boolean;
}

export interface KernelInstance {
  /** In the kernel images. */
  readonly name: string;
  readonly key: TensorInstance;
  readonly value: TensorInstance;
  /** Of keys and values. */
  readonly headDim: number;
  /** That share a kv head. */
  readonly queryHeads: number;
  /** Of a block, where its pages fit into shared memory; one block to a multiprocessor. */
  readonly warps: number;
}

const BITS = [2, 4] as const;
const GROUP_SIZES = [32, 64, 128] as const;
const QUERY_HEADS = [1, 2, 3, 4] as const;

export const INSTANCES: readonly KernelInstance[] = BITS.flatMap((bits) =>
  GROUP_SIZES.flatMap((groupSize) =>
    QUERY_HEADS.map((queryHeads) =>
      instance({
        key: { bits, along: 'tokens', groupSize, hasZero: true },
        value: { bits, along: 'channels', groupSize, hasZero: true },
        headDim: 128,
        queryHeads,
        // Pages of 2 bits are smaller: more of them are on their way.
        warps: bits === 2 ? 12 : 8,
      }),
    ),
  ),
);

/** What packs one tensor. */
export interface PackInstance {
  /** In the kernel images. */
  readonly name: string;
  readonly tensor: 'key' | 'value';
  readonly shape: TensorInstance;
  readonly headDim: number;
}

/** One for every tensor that attention meets. */
export const PACK_INSTANCES: readonly PackInstance[] = packInstances();

/** What packs a tensor of an instance. */
export function packInstanceOf(instance: KernelInstance, tensor: 'key' | 'value'): PackInstance {
  const { headDim, [tensor]: shape } = instance;
  const name = `pack_${tensor[0]}${tensorName(shape)}_d${headDim}`;
  return { name, tensor, shape, headDim };
}

function packInstances(): PackInstance[] {
  const instances = INSTANCES.flatMap((instance) =>
    (['key', 'value'] as const).map((tensor) => packInstanceOf(instance, tensor)),
  );
  return [...new Map(instances.map((instance) => [instance.name, instance])).values()];
}

function instance(shape: Omit<KernelInstance, 'name'>): KernelInstance {
  const { key, value, headDim, queryHeads } = shape;
  const name = `attend_k${tensorName(key)}_v${tensorName(value)}_d${headDim}_q${queryHeads}`;
  return { name, ...shape };
}

function tensorName({ bits, along, groupSize, hasZero }: TensorInstance): string {
  return `${bits}${along === 'tokens' ? 't' : 'c'}${groupSize}${hasZero ? 'z' : ''}`;
}
