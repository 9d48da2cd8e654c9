/**
 * Layers whose tensors are larger than a buffer of the device may be: their kv heads are shared out to parts, each with pages,
 * kernels and inputs of its own. Page numbers are the same in all parts.
 */
import {
  type BlockLayout,
  type HostTensor,
  isHostTensor,
  type LayerPlan,
  type Tensor,
  type TensorCalibration,
  type TensorPlan,
} from '@lowbit-kv/core';
import { layoutOf } from '../gpu-tensor.js';

/** Numbers of parts that heads can be shared out to, rising. */
export function partCounts({ key, value }: LayerPlan): number[] {
  const { heads } = key;
  // Heads that share parameters stay together.
  if (key.layout?.parametersShared || value.layout?.parametersShared) return [1];
  return Array.from({ length: heads }, (_, i) => i + 1).filter((count) => heads % count === 0);
}

/** A layer as `count` parts with as many heads each. */
export function headParts(plan: LayerPlan, count: number): LayerPlan[] {
  if (count === 1) return [plan];
  const { kvHeads, queryHeads } = plan.geometry;
  const heads = kvHeads / count;
  const geometry = { ...plan.geometry, kvHeads: heads, queryHeads: queryHeads / count };
  return Array.from({ length: count }, (_, i) => ({
    ...plan,
    geometry,
    heads: plan.heads.slice(i * heads, (i + 1) * heads),
    key: headsOfPlan(plan.key, i * heads, heads),
    value: headsOfPlan(plan.value, i * heads, heads),
  }));
}

function headsOfPlan(plan: TensorPlan, first: number, heads: number): TensorPlan {
  const numbers = plan.headNumbers ?? Array.from({ length: plan.heads }, (_, head) => head);
  return {
    ...plan,
    heads,
    headNumbers: numbers.slice(first, first + heads),
    layout: plan.layout && headsOfLayout(plan.layout, heads),
    calibration: plan.calibration && headsOfCalibration(plan.calibration, first, heads),
    windowPageBytes: (plan.windowPageBytes / plan.heads) * heads,
    statisticsPageBytes: (plan.statisticsPageBytes / plan.heads) * heads,
  };
}

function headsOfLayout(layout: BlockLayout, heads: number): BlockLayout {
  return { ...layout, heads, pageBytes: heads * layout.headBytes };
}

/** Of what is calibrated, these have a row for each head. */
function headsOfCalibration(
  calibration: TensorCalibration,
  first: number,
  heads: number,
): TensorCalibration {
  const { channelFactors, channelMeans, channelOrder } = calibration;
  const end = first + heads;
  return {
    ...calibration,
    ...(channelFactors && { channelFactors: channelFactors.slice(first, end) }),
    ...(channelMeans && { channelMeans: channelMeans.slice(first, end) }),
    ...(channelOrder && { channelOrder: channelOrder.slice(first, end) }),
  };
}

/** Some heads of a tensor `[rows, heads, headDim]`: the same memory on a device, a copy on the host. */
export function headsOfTensor(tensor: Tensor, first: number, heads: number): Tensor {
  const [rows, all, dim] = tensor.shape as [number, number, number];
  if (heads === all) return tensor;
  const shape = [rows, heads, dim];
  if (!isHostTensor(tensor)) {
    const layout = layoutOf(tensor);
    const offset = layout.offset + first * layout.headStride;
    return { ...tensor, shape, handle: { ...layout, shape, offset, dense: false } };
  }
  const length = rows * heads * dim;
  const data: HostTensor['data'] =
    tensor.type === 'f32' ? new Float32Array(length) : new Uint16Array(length);
  for (let row = 0; row < rows; row++) {
    const from = (row * all + first) * dim;
    data.set(tensor.data.subarray(from, from + heads * dim), row * heads * dim);
  }
  return { type: tensor.type, shape, data };
}

/** Whole pages out of those of equal parts. A page is `planes` times one run of bytes for each head. */
export function joinPages(
  parts: readonly Uint8Array[],
  partBytes: number,
  planes: number,
): Uint8Array {
  const [first] = parts as [Uint8Array];
  if (parts.length === 1) return first;
  const joined = new Uint8Array(first.length * parts.length);
  eachRun(parts.length, first.length / partBytes, partBytes, planes, (part, from, to, bytes) =>
    joined.set((parts[part] as Uint8Array).subarray(from, from + bytes), to),
  );
  return joined;
}

/** What `joinPages` was given. */
export function splitPages(
  joined: Uint8Array,
  count: number,
  partBytes: number,
  planes: number,
): Uint8Array[] {
  if (count === 1) return [joined];
  const parts = Array.from({ length: count }, () => new Uint8Array(joined.length / count));
  const pages = joined.length / count / partBytes;
  eachRun(count, pages, partBytes, planes, (part, to, from, bytes) =>
    (parts[part] as Uint8Array).set(joined.subarray(from, from + bytes), to),
  );
  return parts;
}

function eachRun(
  count: number,
  pages: number,
  partBytes: number,
  planes: number,
  act: (part: number, inPart: number, inJoined: number, bytes: number) => void,
): void {
  const bytes = partBytes / planes;
  for (let run = 0; run < pages * planes; run++)
    for (let part = 0; part < count; part++)
      act(part, run * bytes, (run * count + part) * bytes, bytes);
}
