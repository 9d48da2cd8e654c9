/**
 * Which kernel a layer of a plan takes, and what is told where there is none.
 */
import type {
  LayerGeometry,
  LayerPlan,
  PackedTensorPlan,
  QuantizedTensorScheme,
  Quantizer,
  TensorPlan,
  Transform,
} from '@lowbit-kv/core';
import { mostOutliers } from './attend/band-attention.js';
import { PAGE_TOKENS } from './attend/structs.js';
import {
  APPEND_INSTANCES,
  type AppendInstance,
  BAND_INSTANCES,
  type BandInstance,
  INSTANCES,
  type KernelInstance,
  PACK_INSTANCES,
  type PackInstance,
  type Packing,
  ROWS_INSTANCES,
  type RowsInstance,
  type TensorInstance,
} from './instances.js';
import { type PageShape, pageShapeOf, WIDE_ROW } from './pages/page-layout.js';

export type InstanceChoice =
  | { readonly instance: KernelInstance }
  | { readonly instance: undefined; readonly reasons: readonly string[] };

export function chooseInstance(layer: LayerPlan): InstanceChoice {
  const { geometry } = layer;
  const queryHeads = geometry.queryHeads / geometry.kvHeads;
  const reasons = [...refusedTensor(layer.key, 'key'), ...refusedTensor(layer.value, 'value')];
  if (reasons.length > 0) return { instance: undefined, reasons };
  const key = pageShapeOf(layer.key as PackedTensorPlan);
  const value = pageShapeOf(layer.value as PackedTensorPlan);
  const fitting = INSTANCES.filter((candidate) => fits(candidate, key, value));
  // The narrowest block that has room for all query heads of a kv head, or the widest one.
  const instance =
    fitting.find(({ blockHeads }) => queryHeads <= blockHeads) ?? fitting[fitting.length - 1];
  if (instance !== undefined) {
    const unpacked = refusedPacking(layer);
    return unpacked.length === 0 ? { instance } : { instance: undefined, reasons: unpacked };
  }
  const reason = `keys of ${text(key)} with values of ${text(value)} have no kernel of their own`;
  return { instance: undefined, reasons: [reason] };
}

export type BandChoice =
  | { readonly instance: BandInstance }
  | { readonly instance: undefined; readonly reasons: readonly string[] };

/** Whether a tensor has outlier bands. */
export function hasBands({ scheme }: TensorPlan): boolean {
  return scheme.bits !== 16 && scheme.outliers?.kind === 'bands';
}

/** For layers whose keys and values both have outlier bands. */
export function chooseBandInstance({ key, value }: LayerPlan): BandChoice {
  const reasons = [key, value].flatMap((plan) =>
    refusedBands(plan as PackedTensorPlan).map((reason) => `${plan.tensor}: ${reason}`),
  );
  const instance = BAND_INSTANCES.find(
    ({ headDim }) => headDim === key.headDim && headDim === value.headDim,
  );
  if (instance === undefined) {
    const dims = BAND_INSTANCES.map(({ headDim }) => headDim).join(', ');
    reasons.push(
      `outlier bands of head dims ${key.headDim} and ${value.headDim} have no kernel of their own (there is ${dims})`,
    );
  }
  return instance === undefined || reasons.length > 0
    ? { instance: undefined, reasons }
    : { instance };
}

function refusedBands({ scheme, layout }: PackedTensorPlan): string[] {
  const { quantizer, transforms = [], stage } = scheme;
  const reasons: string[] = [];
  if (quantizer.codes !== 'midRise')
    reasons.push('the middle band has a kernel of its own for midRise codes only');
  if (layout.parametersShared)
    reasons.push('outlier bands have a kernel of their own for parameters of a head only');
  if (transforms.length > 0)
    reasons.push('outlier bands with transforms have no kernel of their own');
  if (stage === 'pre-rope')
    reasons.push('keys held before the rotary embedding have no kernel of their own');
  const room = layout.sparse?.entries.capacity ?? 0;
  if (room > mostOutliers(layout.headDim)) {
    reasons.push(
      `outlier bands have a kernel of their own for room for ${mostOutliers(layout.headDim)} outliers of a block, not ${room} (lower \`reserve\`)`,
    );
  }
  if (layout.blockTokens !== PAGE_TOKENS) {
    reasons.push(
      `outlier bands have a kernel of their own for blocks of ${PAGE_TOKENS} tokens, not of ${layout.blockTokens}`,
    );
  }
  return reasons;
}

/**
 * Kernels for several query tokens of a sequence at once, of a layer that has one for a single one, in order of how many: none where
 * none was built, and with a sliding window, which begins elsewhere for each. Those with room for one query token only are for layers
 * of more query heads to a kv head than that one has.
 */
export function chooseRowsInstances(layer: LayerPlan): readonly RowsInstance[] {
  const { key, value, geometry } = layer;
  if (geometry.slidingWindow !== null) return [];
  const heads = chooseInstance(layer).instance?.blockHeads ?? 0;
  const fewest = geometry.queryHeads / geometry.kvHeads > heads ? 1 : 2;
  const [keys, values] = [key, value].map((plan) => pageShapeOf(plan as PackedTensorPlan));
  return ROWS_INSTANCES.filter(
    (candidate) =>
      fits(candidate, keys as PageShape, values as PageShape) &&
      queriesOfBlock(candidate, geometry) >= fewest,
  );
}

/** Query tokens that a block has room for. */
export function queriesOfBlock({ rows }: RowsInstance, geometry: LayerGeometry): number {
  return Math.floor(rows / (geometry.queryHeads / geometry.kvHeads));
}

function fits(
  candidate: Pick<KernelInstance, 'key' | 'value' | 'headDim'>,
  key: PageShape,
  value: PageShape,
): boolean {
  return (
    candidate.headDim === key.headDim &&
    candidate.headDim === value.headDim &&
    isEqual(candidate.key, key) &&
    isEqual(candidate.value, value)
  );
}

/** Where attention has a kernel, packing may have none. */
function refusedPacking(layer: LayerPlan): string[] {
  const plans = [layer.key, layer.value] as readonly PackedTensorPlan[];
  const reasons = plans.flatMap((plan) => {
    const { transforms = [], quantizer } = plan.scheme;
    const found = choosePackInstance(plan);
    const codes = quantizer.mode === 'codec' ? 'codec' : `${quantizer.mode} ${quantizer.codes}`;
    if (found === undefined)
      return [`${plan.tensor}: nothing packs ${codes} codes of this kind yet`];
    if (transforms.length > 0 && !found.hasFactors)
      return [`${plan.tensor}: nothing packs ${codes} codes with transforms yet`];
    return [];
  });
  return reasons;
}

/** What packs a tensor that attention has a kernel for. */
export function choosePackInstance(plan: PackedTensorPlan): PackInstance | undefined {
  const shape = pageShapeOf(plan);
  return PACK_INSTANCES.find(
    ({ tensor, headDim, shape: own, packing }) =>
      tensor === plan.tensor &&
      headDim === shape.headDim &&
      isEqual(own, shape) &&
      packs(packing, plan.scheme.quantizer),
  );
}

/** What appends to a layer that attention has a kernel for. */
export function chooseAppendInstance({ key, value }: LayerPlan): AppendInstance | undefined {
  const [keys, values] = [key, value].map((plan) => choosePackInstance(plan as PackedTensorPlan));
  return APPEND_INSTANCES.find(
    (instance) => instance.key.name === keys?.name && instance.value.name === values?.name,
  );
}

function packs(packing: Packing, quantizer: Quantizer): boolean {
  if (quantizer.mode !== packing.mode) return false;
  if (packing.mode === 'asymmetric') return true;
  if (quantizer.codes !== packing.codes) return false;
  if (packing.mode === 'symmetric' || quantizer.mode !== 'hybrid') return true;
  return quantizer.asymmetricBits === packing.asymmetricBits && quantizer.tie === packing.tie;
}

function refusedTensor(plan: TensorPlan, tensor: 'key' | 'value'): string[] {
  const { scheme, layout, headDim } = plan;
  const instances = INSTANCES.map((instance) => instance[tensor]);
  if (scheme.bits === 16 || layout === null) return [`${tensor}: f16 has no kernel of its own`];
  const { groups } = scheme;
  const reasons = [
    ...refusedCodes(scheme, tensor),
    ...missing(
      (bits) => `${bits} bits have no kernel of their own`,
      scheme.bits,
      instances.map(({ bits }) => bits),
    ),
    ...missing(
      (dim) => `head dim ${dim} has no kernel of its own`,
      headDim,
      INSTANCES.map((instance) => instance.headDim),
    ),
  ];
  if (groups.along === 'vector' && groups.scope !== 'head')
    reasons.push('groups of all heads have no kernel of their own');
  if (tensor === 'key' && scheme.bits === 3 && headDim % WIDE_ROW !== 0)
    reasons.push(
      `3 bits of head dim ${headDim} have no kernel of their own (multiples of ${WIDE_ROW} have)`,
    );
  if (groups.along !== 'vector') {
    const sizes = instances.map(({ groupSize }) => groupSize);
    reasons.push(
      ...missing((size) => `groups of ${size} have no kernel of their own`, groups.size, sizes),
    );
  }
  if (layout.blockTokens % PAGE_TOKENS !== 0) {
    const advice = `plan with a multiple of ${PAGE_TOKENS} as blockTokens`;
    reasons.push(`blocks of ${layout.blockTokens} tokens have no kernel of their own (${advice})`);
  }
  return reasons.map((reason) => `${tensor}: ${reason}`);
}

/** Features that no instance has. */
function refusedCodes(scheme: QuantizedTensorScheme, tensor: 'key' | 'value'): string[] {
  const { quantizer, parameters, outliers, transforms = [], stage } = scheme;
  const reasons: string[] = [];
  if (quantizer.mode === 'codec') reasons.push('codecs have no kernel of their own');
  else {
    if (typeof quantizer.codes === 'object')
      reasons.push('tables of levels have no kernel of their own');
  }
  for (const [name, type] of Object.entries(parameters)) {
    if (type !== 'f16') reasons.push(`a ${name} in ${type} has no kernel of its own (f16 has)`);
  }
  if (outliers !== undefined) reasons.push('outliers have no kernel of their own');
  if (transforms.length > 0 && !isChannelScale(transforms, tensor)) {
    const kinds = transforms.map(({ kind }) => kind).join(', ');
    reasons.push(
      `these transforms have no kernel of their own (${kinds}); the channel scale of a sequence has, on keys`,
    );
  }
  if (stage === 'pre-rope')
    reasons.push('keys held before the rotary embedding have no kernel of their own');
  return reasons;
}

function isChannelScale([first, ...others]: readonly Transform[], tensor: 'key' | 'value') {
  return (
    tensor === 'key' &&
    others.length === 0 &&
    first?.kind === 'channelScale' &&
    first.scope === 'sequence'
  );
}

/** One reason unless some instance has the value. */
function missing<T>(words: (value: T) => string, value: T, known: readonly T[]): string[] {
  if (known.includes(value)) return [];
  return [`${words(value)} (there is ${[...new Set(known)].join(', ')})`];
}

function isEqual(a: TensorInstance, b: PageShape): boolean {
  return (
    a.bits === b.bits &&
    a.along === b.along &&
    a.groupSize === b.groupSize &&
    a.hasZero === b.hasZero &&
    a.isHybrid === b.isHybrid
  );
}

function text({ bits, along, groupSize, hasZero, isHybrid }: PageShape): string {
  const groups = isHybrid ? 'hybrid groups' : 'groups';
  const suffix = hasZero ? '' : ' without zeros';
  return `${bits} bits in ${groups} of ${groupSize} ${along}${suffix}`;
}
