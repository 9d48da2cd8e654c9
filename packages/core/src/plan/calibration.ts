/**
 * Offline calibration against a scheme and a geometry: everything a plan takes from it is there and in range.
 */
import { type DataPosition, LowbitKvError } from '../errors.js';
import { roundToF16 } from '../float16.js';
import type { LayerGeometry } from '../geometry.js';
import { levelsFault } from '../level-rules.js';
import type {
  Calibration,
  LevelTable,
  QuantizedTensorScheme,
  Quantizer,
  TensorCalibration,
  TensorScheme,
} from '../scheme.js';
import { parseCalibration, type SchemeData } from '../scheme-schema.js';
import { checkTransformValues, type Refuse } from './calibrated-transforms.js';
import type { HeadUnit } from './units.js';

/** What a calibration has to fit. */
export interface CalibrationTarget {
  /** Of the scheme. */
  readonly fingerprint: string;
  /** One per layer. */
  readonly geometry: readonly LayerGeometry[];
  /** The units of each layer. */
  readonly units: readonly (readonly HeadUnit[])[];
}

/** The calibration of a plan; null when its scheme takes none. Throws CALIBRATION_MISSING or CALIBRATION_INVALID. */
export function resolveCalibration(
  scheme: SchemeData,
  given: Calibration | undefined,
  target: CalibrationTarget,
): Calibration | null {
  if (scheme.calibration.kind !== 'offline') {
    if (given === undefined) return null;
    throw new LowbitKvError('CALIBRATION_INVALID', {
      message: `scheme ${JSON.stringify(scheme.id)} takes no calibration`,
      value: scheme.calibration.kind,
      valid: 'no calibration option',
      next: 'Leave `calibration` out, or plan the scheme it was made for.',
    });
  }
  if (given === undefined) {
    throw new LowbitKvError('CALIBRATION_MISSING', {
      message: `scheme ${JSON.stringify(scheme.id)} needs offline calibration`,
      value: undefined,
      valid: `a Calibration with ${scheme.calibration.values.join(' and ')} for every layer`,
      next: 'Make one with `lowbit-kv calibrate` or the `calibrate` function of the scheme, and pass it as `calibration`.',
    });
  }
  const calibration = structuredClone(parseCalibration(given));
  const layers = target.geometry.length;
  if (calibration.scheme !== target.fingerprint)
    refuse('the calibration was made for another scheme', calibration.scheme, target.fingerprint);
  if (calibration.layers.length !== layers)
    refuse(
      'the calibration has another number of layers',
      calibration.layers.length,
      `${layers} layers`,
    );
  for (const [layer, values] of calibration.layers.entries()) {
    for (const [tensor, spec] of tensorsOf(target.units[layer] ?? [])) {
      const refuseHere: Refuse = (part, value, valid, at = {}) =>
        refuse(`${tensor} ${part}`, value, valid, { layer, tensor, ...at });
      if (spec.outliers?.kind === 'bands') checkThresholds(values[tensor]?.thresholds, refuseHere);
      const table = calibratedTable(spec);
      if (table !== null) checkLevels(values[tensor]?.levels, table, spec, refuseHere);
      const { kvHeads, keyHeadDim, valueHeadDim } = target.geometry[layer] as LayerGeometry;
      const headDim = tensor === 'key' ? keyHeadDim : valueHeadDim;
      checkTransformValues(spec, values[tensor] ?? {}, { kvHeads, headDim }, refuseHere);
    }
  }
  return calibration;
}

/** The packed tensor schemes of a layer. */
function tensorsOf(units: readonly HeadUnit[]): ['key' | 'value', QuantizedTensorScheme][] {
  return units.flatMap((unit) =>
    (['key', 'value'] as const).flatMap((tensor): ['key' | 'value', QuantizedTensorScheme][] => {
      const spec = unit[tensor];
      return spec.bits === 16 ? [] : [[tensor, spec]];
    }),
  );
}

function checkThresholds(bands: TensorCalibration['thresholds'], refuseHere: Refuse): void {
  if (bands === undefined) refuseHere('thresholds are missing', bands, 'four thresholds');
  const { outerLow, innerLow, innerHigh, outerHigh } = bands;
  if (!(outerLow <= innerLow && innerLow <= innerHigh && innerHigh <= outerHigh))
    refuseHere(
      'thresholds are out of order',
      bands,
      'outerLow <= innerLow <= innerHigh <= outerHigh',
    );
  if (Object.values(bands).some((edge) => roundToF16(edge) !== edge))
    refuseHere('thresholds are not f16 values', bands, 'f16 values');
}

/** The level table of a tensor that takes its levels from calibration, else null. */
function calibratedTable(spec: QuantizedTensorScheme): LevelTable | null {
  const { codes } = spec.quantizer;
  return typeof codes === 'object' && codes.levels === 'calibrated' ? codes : null;
}

function checkLevels(
  levels: TensorCalibration['levels'],
  table: LevelTable,
  spec: QuantizedTensorScheme,
  refuseHere: Refuse,
): void {
  if (levels === undefined) refuseHere('levels are missing', levels, 'the levels of its codes');
  const fault = levelsFault(levels, table, spec);
  if (fault !== null) refuseHere('levels are out of range', fault.value, fault.valid);
}

/** The scheme of a tensor with the levels of its calibration in place: who executes it sees numbers. */
export function withCalibratedLevels(
  spec: TensorScheme,
  calibration: TensorCalibration | undefined,
): TensorScheme {
  const table = spec.bits === 16 ? null : calibratedTable(spec);
  if (spec.bits === 16 || table === null || calibration?.levels === undefined) return spec;
  const codes = { ...table, levels: calibration.levels };
  return { ...spec, quantizer: { ...spec.quantizer, codes } as Quantizer };
}

function refuse(message: string, value: unknown, valid: string, where?: DataPosition): never {
  throw new LowbitKvError('CALIBRATION_INVALID', {
    message,
    value,
    valid,
    next: 'Calibrate again for this scheme and model.',
    ...(where === undefined ? {} : { where: { ...where } }),
  });
}
