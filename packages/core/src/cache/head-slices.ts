/**
 * Layers whose kv heads are split into units: tensors are cut by heads on the way in, outputs put together on the way out.
 */
import type { AttendJob, AttentionResult, BlockStore } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { LayerUnit, ModelLayer } from '../plan/model-layers.js';
import { f32Tensor, type HostTensor, isHostTensor, type Tensor } from '../tensor.js';

/** Kv heads of a unit from a tensor of its layer, `[rows, heads, headDim]`. Throws PLAN_REFUSED for device memory. */
export function kvHeadsOf(layer: ModelLayer, unit: LayerUnit, tensor: Tensor): Tensor {
  return takeHeads(layer, tensor, unit.plan.heads);
}

/** One attention job per unit; their outputs are put together, by `read()` when they lie on a device. */
export function attendUnits(
  store: BlockStore,
  layer: ModelLayer,
  query: Tensor,
  jobOf: (unit: LayerUnit) => Omit<AttendJob, 'layer' | 'query'>,
): AttentionResult {
  const results = layer.units.map((unit) =>
    store.attend({
      ...jobOf(unit),
      layer: unit.index,
      query: takeHeads(layer, query, queryHeadsOf(layer, unit)),
    }),
  );
  return layer.units.length === 1 ? (results[0] as AttentionResult) : joinResults(layer, results);
}

/** Query heads of the model layer that read the kv heads of a unit. */
function queryHeadsOf({ geometry }: ModelLayer, { plan }: LayerUnit): number[] {
  const group = geometry.queryHeads / geometry.kvHeads;
  return plan.heads.flatMap((head) => Array.from({ length: group }, (_, i) => head * group + i));
}

function takeHeads(layer: ModelLayer, tensor: Tensor, heads: readonly number[]): Tensor {
  if (layer.units.length === 1) return tensor;
  if (!isHostTensor(tensor)) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: 'tensors of a layer with overrides of single heads are cut by heads on the host',
      value: tensor.device,
      valid: 'a tensor with `data`',
      next: 'Read the device tensor back first, or override whole layers.',
      where: { layer: layer.layer },
    });
  }
  const [rows, all, dim] = tensor.shape as [number, number, number];
  const data = new (tensor.data.constructor as new (length: number) => HostTensor['data'])(
    rows * heads.length * dim,
  );
  let to = 0;
  for (let row = 0; row < rows; row++) {
    for (const head of heads) {
      const from = (row * all + head) * dim;
      data.set(tensor.data.subarray(from, from + dim), to);
      to += dim;
    }
  }
  return { type: tensor.type, shape: [rows, heads.length, dim], data };
}

type HostResult = Awaited<ReturnType<AttentionResult['read']>>;

function joinResults(layer: ModelLayer, results: readonly AttentionResult[]): AttentionResult {
  let joined: HostResult | undefined;
  const read = async (): Promise<HostResult> => {
    joined ??= joinHost(layer, await Promise.all(results.map((result) => result.read())));
    return joined;
  };
  if (results.every(isOnHost)) joined = joinHost(layer, results as unknown as HostResult[]);
  if (joined !== undefined) return { ...joined, read };
  const pending = (tensor: Tensor, part: keyof HostResult): Tensor => ({
    type: 'f32',
    shape: [tensor.shape[0] as number, layer.geometry.queryHeads, ...tensor.shape.slice(2)],
    device: 'core',
    handle: async () => (await read())[part],
  });
  const [first] = results as [AttentionResult];
  return {
    output: pending(first.output, 'output'),
    logSumExp: first.logSumExp && pending(first.logSumExp, 'logSumExp'),
    read,
  };
}

function isOnHost({ output, logSumExp }: AttentionResult): boolean {
  return isHostTensor(output) && (logSumExp === undefined || isHostTensor(logSumExp));
}

function joinHost(layer: ModelLayer, results: readonly HostResult[]): HostResult {
  const scores = results.map(({ logSumExp }) => logSumExp);
  return {
    output: putTogether(
      layer,
      results.map(({ output }) => output),
    ),
    logSumExp: scores.every((tensor) => tensor !== undefined)
      ? putTogether(layer, scores)
      : undefined,
  };
}

/** f32 `[queries, queryHeads, ...]` of the layer from those of its units. */
function putTogether(layer: ModelLayer, parts: readonly HostTensor[]): HostTensor {
  const { queryHeads } = layer.geometry;
  const [queries, , dim = 1] = (parts[0] as HostTensor).shape as [number, number, number?];
  const data = new Float32Array(queries * queryHeads * dim);
  for (const [i, unit] of layer.units.entries()) {
    const part = (parts[i] as HostTensor).data;
    let from = 0;
    for (let query = 0; query < queries; query++) {
      for (const head of queryHeadsOf(layer, unit)) {
        data.set(part.subarray(from, from + dim), (query * queryHeads + head) * dim);
        from += dim;
      }
    }
  }
  const tail = (parts[0] as HostTensor).shape.slice(2);
  return f32Tensor(data, [queries, queryHeads, ...tail]);
}
