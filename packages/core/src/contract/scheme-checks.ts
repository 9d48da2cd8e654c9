/**
 * What `describeScheme` checks: the scheme object, its plans, and what a reference cache of it does.
 */
import { createCalibration } from '../calibration.js';
import { LowbitKvError } from '../errors.js';
import type { Geometry } from '../geometry.js';
import { modelLayers } from '../plan/model-layers.js';
import { createPlan, type Plan } from '../plan/plan.js';
import type { Calibration, Scheme } from '../scheme.js';
import { type ContractCheck, check, ensure, ensureEqual } from './check.js';
import { cacheChecks } from './scheme-cache.js';
import { codecChecks } from './scheme-codecs.js';
import { measurementSamples } from './scheme-data.js';
import { objectChecks } from './scheme-object.js';
import { valueChecks } from './scheme-values.js';

export interface SchemeContractOptions {
  /** Calibration for a geometry. Default: the `calibrate` function of the scheme over generated samples. */
  readonly calibration?: (geometry: Geometry) => Calibration | Promise<Calibration>;
  /**
   * Geometries that the scheme must fit; values are checked on the first, without its sliding windows. Default: it must
   * fit one of a list of usual ones, and refuse the others by code.
   */
  readonly geometries?: readonly [Geometry, ...Geometry[]];
  /**
   * Largest relative error (root mean square) of packed tokens on normal data with a loud channel. Default by bits: 0.95
   * up to 2, 0.5 for 3, 0.25 for 4, 0.02 for 8; storing zeros is an error of 1. One bit: 2, and a cosine of 0.5.
   */
  readonly relativeError?: { readonly key: number; readonly value: number };
  /**
   * For codecs that reproduce published arithmetic: a group whose range exceeds f16 may decode to NaN or infinity.
   * Default false.
   */
  readonly mayOverflow?: boolean;
}

const DIMS: readonly (readonly [key: number, value: number])[] = [
  [64, 64],
  [128, 128],
  [80, 80],
  [96, 96],
  [112, 112],
  [192, 128],
  [64, 32],
];

/** One layer, or two where the scheme treats layers differently. */
function usualGeometries(scheme: Scheme): Geometry[] {
  return DIMS.map(([keyHeadDim, valueHeadDim]) => ({
    layers: scheme.overrides === undefined ? 1 : 2,
    queryHeads: 4,
    kvHeads: 2,
    keyHeadDim,
    valueHeadDim,
    rotary: { pairs: 'halves' },
  }));
}

/** Short, so that a run crosses blocks. */
const BLOCK_TOKENS = 32;

/** All checks of a scheme. Values are checked on the reference backend; a plan it refuses gives skipped checks. */
export function schemeChecks(scheme: Scheme, options: SchemeContractOptions = {}): ContractCheck[] {
  const required = options.geometries !== undefined;
  const geometries = options.geometries ?? usualGeometries(scheme);
  const planFor = async (geometry: Geometry, blockTokens?: number): Promise<Plan> => {
    const calibration = await calibrationFor(scheme, geometry, options);
    return createPlan(scheme, geometry, {
      ...(calibration === undefined ? {} : { calibration }),
      ...(blockTokens === undefined ? {} : { blockTokens }),
    });
  };
  let opened: Promise<Plan> | undefined;
  const mainPlan = () => {
    opened ??= firstPlan(geometries, (geometry) => planFor(geometry, BLOCK_TOKENS));
    return opened;
  };
  return [
    ...objectChecks(scheme),
    ...codecChecks(scheme, options.mayOverflow),
    check(required ? 'fits its geometries' : 'fits or refuses the usual geometries', async () => {
      await checkGeometries(geometries, planFor, required);
    }),
    ...cacheChecks(mainPlan),
    ...valueChecks(mainPlan, options.relativeError),
  ];
}

async function calibrationFor(
  scheme: Scheme,
  geometry: Geometry,
  options: SchemeContractOptions,
): Promise<Calibration | undefined> {
  if (options.calibration !== undefined) return options.calibration(geometry);
  if (scheme.calibration.kind !== 'offline') return undefined;
  return createCalibration(scheme, measurementSamples(geometry), { source: 'contract suite' });
}

/** The plan of the first geometry that fits; the last refusal when none does. */
async function firstPlan(
  geometries: readonly Geometry[],
  planFor: (geometry: Geometry) => Promise<Plan>,
): Promise<Plan> {
  let refusal: unknown;
  for (const geometry of geometries) {
    try {
      return await planFor(withoutSlidingWindows(geometry));
    } catch (error) {
      if (!isShapeRefusal(error)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function withoutSlidingWindows(geometry: Geometry): Geometry {
  const { layerOverrides } = geometry;
  return {
    ...geometry,
    slidingWindow: null,
    ...(layerOverrides === undefined
      ? {}
      : { layerOverrides: layerOverrides.map((entry) => ({ ...entry, slidingWindow: null })) }),
  };
}

async function checkGeometries(
  geometries: readonly Geometry[],
  planFor: (geometry: Geometry) => Promise<Plan>,
  required: boolean,
): Promise<void> {
  let fitting = 0;
  for (const geometry of geometries) {
    try {
      const plan = await planFor(geometry);
      ensureEqual((await planFor(geometry)).fingerprint, plan.fingerprint, 'plan fingerprint');
      ensureEqual(modelLayers(plan).length, geometry.layers, 'planned layers');
      fitting++;
    } catch (error) {
      if (required || !isShapeRefusal(error)) throw error;
    }
  }
  ensure(fitting > 0, `fits none of ${geometries.length} geometries; pass \`geometries\``);
}

function isShapeRefusal(error: unknown): boolean {
  return (
    LowbitKvError.is(error, 'SHAPE_UNSUPPORTED') ||
    LowbitKvError.is(error, 'PLAN_REFUSED') ||
    // Overrides can name layers that a short model lacks.
    LowbitKvError.is(error, 'GEOMETRY_INVALID')
  );
}
