/**
 * Plans that take kernels of the instance table: one for each, and random ones.
 */
import {
  createPlan,
  type Geometry,
  LowbitKvError,
  type Plan,
  type TensorScheme,
} from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineCalibration,
  inlineScheme,
  symmetric,
} from '@lowbit-kv/core/testing';
import {
  BAND_INSTANCES,
  type BandInstance,
  INSTANCES,
  type KernelInstance,
  type TensorInstance,
} from '../src/instances.js';

interface Window {
  readonly recent: number;
  readonly flush: number;
}

/** A plan for every kernel of attention, with its name. */
export function instancePlans(): (readonly [name: string, plan: Plan])[] {
  return [
    ...INSTANCES.map((instance) => [instance.name, planOf(instance)] as const),
    ...BAND_INSTANCES.map((instance) => [instance.name, bandPlanOf(instance)] as const),
  ];
}

/** Plans of normal values half way through whose pages outliers have no more room as words. */
export function crowdedPlans(): (readonly [name: string, plan: Plan])[] {
  return BAND_INSTANCES.map((instance) => [instance.name, bandPlanOf(instance, 15)] as const);
}

/** A plan for a kernel drawn at random, with windows, heads, caps and blocks drawn too. */
export function drawnInstancePlan(draw: () => number): Plan {
  const pick = <T>(values: readonly T[]) => values[(draw() >> 3) % values.length] as T;
  for (;;) {
    const all = [...INSTANCES, ...BAND_INSTANCES, ...BAND_INSTANCES, ...BAND_INSTANCES];
    const instance = pick(all);
    const recent = () => pick([0, 8, 40, 100, 128, 300]);
    const windowOf = (groupTokens: number): Window => ({
      recent: recent(),
      flush: groupTokens * pick([1, 1, 2, 4]),
    });
    const kvHeads = pick([1, 2, 3]);
    const geometry: Geometry = {
      ...{ layers: 1, queryHeads: kvHeads * pick([1, 2, 3, 4, 5, 8, 12, 16]), kvHeads },
      ...{ keyHeadDim: instance.headDim, valueHeadDim: instance.headDim },
      softCap: pick([null, null, 30]),
      slidingWindow: pick([null, null, { size: 200, sinks: 3 }]),
    };
    const scheme = inlineScheme({
      key: tensorOf(instance, true, windowOf),
      value: tensorOf(instance, false, windowOf),
      sinks: pick([0, 4, 32]),
      packing: pick(['before-attention', 'after-attention']),
    });
    try {
      const calibration = inlineCalibration(scheme, geometry);
      return createPlan(scheme, geometry, {
        blockTokens: 128,
        ...(calibration === undefined ? {} : { calibration }),
      });
    } catch (error) {
      // A combination that no plan may have.
      if (!LowbitKvError.is(error)) throw error;
    }
  }
}

function tensorOf(
  instance: KernelInstance | BandInstance,
  isKey: boolean,
  windowOf: (groupTokens: number) => Window,
): TensorScheme {
  if (!('key' in instance)) return bands('midRise', 'head', 48, windowOf(1));
  const own = isKey ? instance.key : instance.value;
  return schemeOf(
    own,
    isKey,
    instance.headDim,
    windowOf(own.along === 'tokens' ? own.groupSize : 1),
  );
}

function planOf({ name, key, value, headDim, blockHeads }: KernelInstance): Plan {
  const scheme = inlineScheme({
    key: schemeOf(key, true, headDim),
    value: schemeOf(value, false, headDim),
  });
  const hasWider = INSTANCES.some(
    (other) =>
      other.name !== name &&
      other.name.startsWith(name.replace(/_h\d+$/, '_h')) &&
      other.blockHeads > blockHeads,
  );
  return createPlan(scheme, geometryOf(headDim, blockHeads, hasWider), { blockTokens: 128 });
}

/** Windows of other lengths, so that one tensor has packed tokens that the other has not. */
function bandPlanOf({ headDim, blockHeads }: BandInstance, reserve = 48): Plan {
  const scheme = inlineScheme({
    key: bands('midRise', 'head', reserve, { recent: 8, flush: 8 }),
    value: bands('midRise', 'head', reserve, { recent: 40, flush: 1 }),
    sinks: 4,
  });
  const geometry = geometryOf(headDim, blockHeads);
  const calibration = inlineCalibration(scheme, geometry);
  if (calibration === undefined) throw new Error('bands take their thresholds from a calibration');
  return createPlan(scheme, geometry, { blockTokens: 128, calibration });
}

/** Query heads that take several blocks, unless a wider kernel would take them all. */
function geometryOf(headDim: number, blockHeads: number, hasWider = false): Geometry {
  const shape = { layers: 1, queryHeads: 2 * (blockHeads + (hasWider ? 0 : 1)), kvHeads: 2 };
  return { ...shape, keyHeadDim: headDim, valueHeadDim: headDim };
}

/** Windows of keys and values differ, so that one tensor has packed tokens that the other has not. */
function windowOf({ along, groupSize }: TensorInstance, isKey: boolean): Window {
  return { recent: isKey ? 8 : 40, flush: along === 'tokens' ? groupSize : 8 };
}

function schemeOf(
  instance: TensorInstance,
  isKey: boolean,
  headDim: number,
  window: Window = windowOf(instance, isKey),
): TensorScheme {
  const { bits, along, groupSize, hasZero, isHybrid } = instance;
  if (isHybrid) return hybrid(bits as 2, 'full', bits, 'symmetric', along, groupSize, window);
  if (hasZero) return asymmetric(bits, along, groupSize, window);
  const isVector = groupSize === headDim;
  const codes = isVector || (along === 'channels' && !isKey) ? 'signmag' : 'full';
  const around = symmetric(bits, codes, along, groupSize, window);
  return isKey && bits === 3 ? channelScaled(around, 40) : around;
}
