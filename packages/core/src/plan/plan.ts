/**
 * The planner: scheme x geometry -> plan, with every size a backend needs.
 */

import type { GroupCodec } from '../codec.js';
import { checkedCodecs, codecOf } from '../codec-rules.js';
import { LowbitKvError } from '../errors.js';
import { fingerprint } from '../fingerprint.js';
import { type Geometry, type LayerGeometry, resolveGeometry } from '../geometry.js';
import { isMeasured, transformsOf } from '../law/transform-numbers.js';
import { checkCount, checkOptions } from '../options.js';
import type {
  Calibration,
  QuantizedTensorScheme,
  Scheme,
  TensorCalibration,
  TensorScheme,
} from '../scheme.js';
import { deepFreeze, type SchemeData, schemeDataOf } from '../scheme-schema.js';
import { resolveCalibration, withCalibratedLevels } from './calibration.js';
import { type BlockLayout, layoutBlock } from './layout.js';
import { calibrationOfHeads, type HeadUnit, unitsOfLayers } from './units.js';

/** Tokens of an f16 window page. */
export const WINDOW_PAGE_TOKENS = 32;
const DEFAULT_BLOCK_TOKENS = 128;
/** Sliding-window layers evict whole pages, so their blocks are short. */
const SLIDING_BLOCK_TOKENS = 32;

export interface PlanOptions {
  readonly calibration?: Calibration;
  /** What a scheme that comes from JSON cannot bring along; beside the codecs of the scheme object, if any. */
  readonly codecs?: readonly GroupCodec[];
  /** Tokens of a packed block; rounded up to whole flushes. Default 128, or 32 in sliding-window layers. */
  readonly blockTokens?: number;
}

/** A scheme resolved against a geometry. Frozen, and JSON but for the functions of codecs. */
export interface Plan {
  readonly planVersion: 1;
  readonly scheme: SchemeData;
  /** Units, in the order of the layers of the model; `modelLayers` puts them together. */
  readonly layers: readonly LayerPlan[];
  readonly classes: readonly PageClass[];
  readonly calibration: Calibration | null;
  /**
   * Identifies bytes: two caches with this fingerprint can exchange snapshots. Of a codec it covers everything but the
   * source of its functions, which a bundler may change: that equal versions give equal bytes is the codec's promise.
   */
  readonly fingerprint: string;
}

/** A unit: a layer, or the kv heads of one that share tensor schemes where overrides name single heads. */
export interface LayerPlan {
  /** Of the model. */
  readonly layer: number;
  /** Kv heads of the model layer, rising. */
  readonly heads: readonly number[];
  /** Of the unit: its own kv heads, and the query heads that read them. */
  readonly geometry: LayerGeometry;
  readonly key: TensorPlan;
  readonly value: TensorPlan;
}

export interface TensorPlan {
  readonly tensor: 'key' | 'value';
  readonly heads: number;
  /** Kv heads of the model layer, where these are only some of them. */
  readonly headNumbers?: readonly number[];
  readonly headDim: number;
  /** Index into `Plan.classes`. */
  readonly class: number;
  readonly scheme: TensorScheme;
  /** Null when the tensor stays f16. */
  readonly layout: BlockLayout | null;
  readonly calibration: TensorCalibration | null;
  /** What encodes and decodes groups, when the quantizer is a codec. */
  readonly codec?: GroupCodec;
  /** Bytes of an f16 window page: `[heads, WINDOW_PAGE_TOKENS, headDim]`. */
  readonly windowPageBytes: number;
  /** Bytes of a statistics page: `[heads, headDim]` f16 for each transform that takes statistics. */
  readonly statisticsPageBytes: number;
}

/**
 * Tensors whose tokens are packed at the same moments share page numbers, so bookkeeping runs once per class, not once
 * per layer.
 */
export interface PageClass {
  readonly tensor: 'key' | 'value';
  readonly sinks: number;
  readonly recent: number;
  /** Tokens packed at once; 0 when the tensor stays f16. */
  readonly flush: number;
  readonly packing: 'before-attention' | 'after-attention';
  /** 0 when the tensor stays f16. */
  readonly blockTokens: number;
  readonly tokensPerGroup: number;
  /** Nothing packs before this many tokens after the sinks exist; 0 when no statistics are taken. */
  readonly statisticsTokens: number;
  readonly slidingWindow: { readonly size: number; readonly sinks: number } | null;
  /** Of the model: those with heads in this class. */
  readonly layers: readonly number[];
}

/** Plans a scheme. Throws SCHEME_INVALID, GEOMETRY_INVALID, SHAPE_UNSUPPORTED, CALIBRATION_*, CODEC_* or PLAN_REFUSED. */
export function createPlan(
  scheme: Scheme | SchemeData,
  geometry: Geometry,
  options: PlanOptions = {},
): Plan {
  const data = structuredClone(schemeDataOf(scheme));
  checkOptions('createPlan', options, ['calibration', 'codecs', 'blockTokens']);
  if (options.blockTokens !== undefined) checkCount('blockTokens', options.blockTokens, 1);
  const layerGeometry = resolveGeometry(geometry);
  const codecs = checkedCodecs((scheme as Scheme).codecs, options.codecs);
  const units = unitsOfLayers(data, layerGeometry);
  const calibration = resolveCalibration(data, options.calibration, {
    fingerprint: schemeFingerprint(data),
    geometry: layerGeometry,
    units,
  });
  const classes: { key: string; value: PageClass & { layers: number[] } }[] = [];
  const planTensor = (tensor: 'key' | 'value', layer: number, unit: HeadUnit): TensorPlan => {
    const shape = layerGeometry[layer] as LayerGeometry;
    const heads = unit.heads.length;
    const calibrated = calibration?.layers[layer]?.[tensor];
    const spec = withCalibratedLevels(unit[tensor], calibrated);
    const headDim = tensor === 'key' ? shape.keyHeadDim : shape.valueHeadDim;
    const pageClass = classOf(data, tensor, spec, shape, options.blockTokens);
    const identity = JSON.stringify(pageClass);
    let index = classes.findIndex((entry) => entry.key === identity);
    if (index < 0) index = classes.push({ key: identity, value: { ...pageClass, layers: [] } }) - 1;
    const members = classes[index]?.value.layers as number[];
    if (members.at(-1) !== layer) members.push(layer);
    const layout =
      spec.bits === 16
        ? null
        : layoutBlock(spec, { heads, headDim, blockTokens: pageClass.blockTokens, tensor });
    const codec =
      spec.bits === 16 || layout === null
        ? undefined
        : codecOf(spec, layout.tokensPerGroup * layout.channelsPerGroup, codecs, {
            tensor,
            layer,
          });
    return {
      tensor,
      heads,
      ...(heads < shape.kvHeads ? { headNumbers: unit.heads } : {}),
      headDim,
      class: index,
      scheme: spec,
      layout,
      calibration: calibrated === undefined ? null : calibrationOfHeads(calibrated, unit.heads),
      ...(codec === undefined ? {} : { codec }),
      windowPageBytes: heads * WINDOW_PAGE_TOKENS * headDim * 2,
      statisticsPageBytes: measuredTransforms(spec) * heads * headDim * 2,
    };
  };
  const layers = layerGeometry.flatMap((shape, layer) =>
    (units[layer] as readonly HeadUnit[]).map((unit): LayerPlan => {
      const key = planTensor('key', layer, unit);
      const rotary = rotaryOf(key.scheme, shape, layer);
      return {
        layer,
        heads: unit.heads,
        geometry: { ...geometryOfHeads(shape, unit.heads.length), rotary },
        key,
        value: planTensor('value', layer, unit),
      };
    }),
  );
  for (const { layer, key, value } of layers) {
    checkSizes(key, layer);
    checkSizes(value, layer);
  }
  const body = {
    planVersion: 1 as const,
    scheme: data,
    layers,
    classes: classes.map((entry) => entry.value),
    calibration,
  };
  const identity = {
    ...body,
    scheme: meaningOf(data),
    // The heads of a whole layer are no news (those of a unit its tensors name), and plans without an embedding keep the
    // fingerprints they had before there was one.
    layers: layers.map(({ heads, ...layer }) => ({
      ...layer,
      geometry: { ...layer.geometry, rotary: layer.geometry.rotary ?? undefined },
    })),
  };
  return deepFreeze({ ...body, fingerprint: fingerprint(identity) });
}

function geometryOfHeads(shape: LayerGeometry, kvHeads: number): LayerGeometry {
  return { ...shape, kvHeads, queryHeads: (shape.queryHeads / shape.kvHeads) * kvHeads };
}

/** The rotary embedding that attention applies to the keys of a layer; null when the caller has applied it. */
function rotaryOf(
  key: TensorScheme,
  { rotary }: LayerGeometry,
  layer: number,
): LayerGeometry['rotary'] {
  if (key.bits === 16 || key.stage !== 'pre-rope') return null;
  if (rotary !== null) return rotary;
  throw new LowbitKvError('GEOMETRY_INVALID', {
    message: 'keys cached before the rotary embedding need to know the embedding',
    value: rotary,
    valid: '`rotary` with its pairs and its base or frequencies',
    next: 'Add `rotary` to the geometry, or use a scheme that caches keys after the rotary embedding.',
    where: { layer, field: 'rotary' },
  });
}

/** Byte counts beyond 2^53 would be silently rounded. */
function checkSizes({ tensor, layout, windowPageBytes }: TensorPlan, layer: number): void {
  const largest = Math.max(layout?.pageBytes ?? 0, windowPageBytes);
  if (Number.isSafeInteger(largest)) return;
  throw new LowbitKvError('SHAPE_UNSUPPORTED', {
    message: 'a page is too large to count its bytes',
    value: largest,
    valid: `at most ${Number.MAX_SAFE_INTEGER} bytes`,
    next: 'Use fewer tokens per block, or correct the geometry.',
    where: { tensor, layer },
  });
}

/** The fingerprint of what a scheme does: what a calibration is tied to. */
export function schemeFingerprint(scheme: Scheme | SchemeData): string {
  return fingerprint(meaningOf(schemeDataOf(scheme)));
}

/** Names change nothing about bytes: a better title must not orphan snapshots and calibrations. */
function meaningOf(scheme: SchemeData): Partial<SchemeData> {
  const { id, title, references, ...meaning } = scheme;
  return meaning;
}

function classOf(
  scheme: SchemeData,
  tensor: 'key' | 'value',
  spec: TensorScheme,
  shape: LayerGeometry,
  blockOption: number | undefined,
): Omit<PageClass, 'layers'> {
  const base = {
    tensor,
    sinks: scheme.sinks,
    packing: scheme.packing,
    slidingWindow: shape.slidingWindow,
  };
  if (spec.bits === 16) {
    return {
      ...base,
      sinks: 0,
      recent: 0,
      flush: 0,
      blockTokens: 0,
      tokensPerGroup: 1,
      statisticsTokens: 0,
    };
  }
  refuseUnplanned(spec);
  const { recent, flush } = spec.window;
  const wanted =
    blockOption ?? (shape.slidingWindow === null ? DEFAULT_BLOCK_TOKENS : SLIDING_BLOCK_TOKENS);
  return {
    ...base,
    recent,
    flush,
    blockTokens: Math.ceil(wanted / flush) * flush,
    tokensPerGroup: spec.groups.along === 'tokens' ? spec.groups.size : 1,
    statisticsTokens: statisticsTokens(spec, shape),
  };
}

/** Transforms of a tensor that take statistics from the sequence. */
function measuredTransforms(spec: TensorScheme): number {
  return transformsOf({ scheme: spec }).filter(isMeasured).length;
}

/** Statistics come from tokens the sequence still holds, so a sliding window bounds how many there can be. */
function statisticsTokens(spec: QuantizedTensorScheme, shape: LayerGeometry): number {
  const wanted = (spec.transforms ?? []).map((step) =>
    isMeasured(step) ? step.statisticsTokens : 0,
  );
  return Math.min(Math.max(0, ...wanted), shape.slidingWindow?.size ?? Number.POSITIVE_INFINITY);
}

function refuseUnplanned(spec: QuantizedTensorScheme): void {
  const format = spec.outliers?.storage.format;
  if (format !== 'bitmap64') return;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: 'this outlier storage has no block layout yet',
    value: format,
    valid: ['coo64'],
    next: 'Use outlier bands stored as coo64, or leave `outliers` out.',
  });
}
