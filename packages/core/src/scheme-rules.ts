/**
 * Cross-field rules of a scheme that a shape alone cannot say.
 */
import { LowbitKvError } from './errors.js';
import { F16_SMALLEST_NORMAL } from './float16.js';
import { isCalibrated, isMeasured } from './law/transform-numbers.js';
import { levelsFault } from './level-rules.js';
import type {
  CalibrationNeed,
  CalibrationValue,
  LevelTable,
  QuantizedTensorScheme,
  TensorScheme,
} from './scheme.js';
import type { SchemeData } from './scheme-schema.js';

type Refuse = (part: string, value: unknown, valid: string) => never;

/** What a transform of scope `model` takes from the calibration. */
const CALIBRATED_BY = {
  tensorScale: 'tensorFactor',
  channelScale: 'channelFactors',
  channelMean: 'channelMeans',
  channelOrder: 'channelOrder',
} as const;
const CLAMP_LOWEST = 2 ** -14;
const CLAMP_HIGHEST = 2 ** 14;

/** Throws SCHEME_INVALID for the first rule that a well-formed scheme breaks. */
export function checkSchemeRules(scheme: SchemeData, label: string): void {
  const quantized: QuantizedTensorScheme[] = [];
  for (const [field, spec] of tensorsOf(scheme)) {
    if (spec === undefined || spec.bits === 16) continue;
    const refuse: Refuse = (part, value, valid) =>
      refuseField(label, `${field}.${part}`, value, valid);
    checkGroups(spec, refuse);
    checkQuantizer(spec, refuse);
    checkBands(spec, refuse);
    if (field.endsWith('value') && spec.stage !== undefined)
      refuse('stage', spec.stage, 'absent: values carry no rotary embedding');
    checkTransforms(spec, refuse);
    quantized.push(spec);
  }
  for (const [i, override] of (scheme.overrides ?? []).entries()) {
    if (override.key === undefined && override.value === undefined)
      refuseField(label, `overrides[${i}]`, override, 'an override of key, value or both');
  }
  checkCalibration(scheme, quantized, label);
}

function checkTransforms({ transforms = [] }: QuantizedTensorScheme, refuse: Refuse): void {
  const measured = transforms.find(isMeasured);
  for (const [i, step] of transforms.entries()) {
    if (measured !== undefined && isMeasured(step)) {
      const { statisticsTokens } = measured;
      if (step.statisticsTokens !== statisticsTokens)
        refuse(
          `transforms[${i}].statisticsTokens`,
          step.statisticsTokens,
          `${statisticsTokens}: all transforms of a tensor are measured on the same tokens`,
        );
    }
    const first = transforms.findIndex(
      (other) => other.kind === step.kind && isCalibrated(other) && isCalibrated(step),
    );
    if (first >= 0 && first < i)
      refuse(`transforms[${i}]`, step, `at most one ${step.kind} from calibration`);
    if ('largest' in step && !(F16_SMALLEST_NORMAL <= step.largest && step.largest <= 2 ** 32))
      refuse(`transforms[${i}].largest`, step.largest, 'from 2^-14 to 2^32');
    if (!('clamp' in step)) continue;
    const [low, high] = step.clamp;
    // The stored reciprocal must be a normal f16.
    if (!(CLAMP_LOWEST <= low && low <= high && high <= CLAMP_HIGHEST))
      refuse(
        `transforms[${i}].clamp`,
        step.clamp,
        `[smallest, largest], from ${CLAMP_LOWEST} to ${CLAMP_HIGHEST}`,
      );
  }
}

function tensorsOf(scheme: SchemeData): [string, TensorScheme | undefined][] {
  const tensors: [string, TensorScheme | undefined][] = [
    ['key', scheme.key],
    ['value', scheme.value],
  ];
  for (const [i, override] of (scheme.overrides ?? []).entries()) {
    tensors.push([`overrides[${i}].key`, override.key], [`overrides[${i}].value`, override.value]);
  }
  return tensors;
}

function checkGroups({ groups, window, outliers }: QuantizedTensorScheme, refuse: Refuse): void {
  if (groups.along === 'vector') {
    if (groups.scope === 'allHeads' && outliers?.kind !== 'bands')
      refuse('groups.scope', 'allHeads', 'head (allHeads is for outlier bands)');
    return;
  }
  if (groups.along === 'channels') return;
  if (groups.size % 8 !== 0) {
    refuse(
      'groups.size',
      groups.size,
      'a multiple of 8 for groups along tokens, so that a group fills whole bytes',
    );
  }
  if (window.flush % groups.size !== 0) {
    refuse(
      'window.flush',
      window.flush,
      `a multiple of the group size ${groups.size} (groups run along tokens)`,
    );
  }
}

function checkQuantizer(spec: QuantizedTensorScheme, refuse: Refuse): void {
  const { quantizer, bits, outliers } = spec;
  const { mode, codes } = quantizer;
  checkParameters(spec, refuse);
  if (mode === 'codec' && outliers !== undefined)
    refuse('outliers', outliers, 'absent: the bytes of a codec are all there is');
  if (mode === 'codec') return;
  if (codes === 'signmag' && bits < 2) refuse('bits', bits, 'at least 2 for sign and magnitude');
  if (mode === 'hybrid' && quantizer.asymmetricBits > bits)
    refuse('quantizer.asymmetricBits', quantizer.asymmetricBits, `at most bits = ${bits}`);
  if (codes === 'midRise' && outliers?.kind !== 'bands')
    refuse('quantizer.codes', 'midRise', 'only together with outlier bands');
  if (typeof codes === 'object') checkLevels(codes, spec, refuse);
}

/** Types a parameter can have: a sign needs f16 or f32, a power of two has none and no zero beside it. */
function checkParameters({ quantizer, parameters }: QuantizedTensorScheme, refuse: Refuse): void {
  const { mode, codes } = quantizer;
  const { scale, zero } = parameters;
  const unscaled = mode === 'codec' || (typeof codes === 'object' && codes.scaledBy === 'none');
  if (unscaled && scale !== undefined)
    refuse('parameters.scale', scale, 'absent: these groups store no scale');
  if (!unscaled && scale === undefined)
    refuse('parameters.scale', scale, 'a type, because groups store a scale');
  const hasZero = mode === 'asymmetric' || mode === 'hybrid';
  if (hasZero && zero === undefined)
    refuse('parameters.zero', undefined, `a type, because ${mode} groups store a zero`);
  if (!hasZero && zero !== undefined)
    refuse('parameters.zero', zero, `absent: ${mode} groups store no zero`);
  const signed = mode === 'hybrid' || codes === 'fullSigned';
  if (signed && (scale === 'e4m3' || scale === 'e8m0'))
    refuse('parameters.scale', scale, 'f16 or f32: the scale carries a sign');
  if (mode === 'asymmetric' && scale === 'e8m0')
    refuse('parameters.scale', scale, 'f16, f32 or e4m3, where groups store a zero');
}

function checkLevels(table: LevelTable, spec: QuantizedTensorScheme, refuse: Refuse): void {
  const { levels, scaledBy } = table;
  if (spec.quantizer.mode === 'asymmetric' && scaledBy !== 'absoluteMaximum')
    refuse('quantizer.codes.scaledBy', scaledBy, 'absoluteMaximum, where groups store a zero');
  const fault = levels === 'calibrated' ? null : levelsFault(levels, table, spec);
  if (fault !== null) refuse('quantizer.codes.levels', fault.value, fault.valid);
}

function checkBands(spec: QuantizedTensorScheme, refuse: Refuse): void {
  const { bits, groups, quantizer, parameters, outliers } = spec;
  if (outliers?.kind !== 'bands') return;
  const { outer, middle, inner } = outliers.shares;
  if (Math.abs(outer + middle + inner - 1) > 1e-9)
    refuse('outliers.shares', outliers.shares, 'shares that add up to 1');
  if (groups.along !== 'vector')
    refuse('groups.along', groups.along, 'vector, when there are outlier bands');
  if (bits !== 4)
    refuse('bits', bits, '4, when there are outlier bands: the dense slot is a nibble');
  if (quantizer.codes !== 'midRise' && quantizer.codes !== 'uniform') {
    refuse(
      'quantizer',
      quantizer,
      'symmetric midRise or asymmetric uniform, when there are outlier bands',
    );
  }
  for (const [name, type] of Object.entries(parameters))
    if (type !== 'f16') refuse(`parameters.${name}`, type, 'f16, when there are outlier bands');
}

function checkCalibration(
  { calibration }: SchemeData,
  tensors: readonly QuantizedTensorScheme[],
  label: string,
): void {
  const usesStatistics = tensors.some(takesStatistics);
  const needed = new Set(tensors.flatMap(calibratedValues));
  const measured = calibration.kind === 'offline' ? calibration.values : [];
  for (const value of needed) {
    if (!measured.includes(value))
      refuseField(label, 'calibration', calibration, `offline with ${[...needed].join(' and ')}`);
  }
  for (const value of measured) {
    if (!needed.has(value))
      refuseField(label, 'calibration.values', measured, `no ${value}: nothing uses them`);
  }
  if (calibration.kind !== 'offline' && usesStatistics !== (calibration.kind === 'prefill')) {
    refuseField(
      label,
      'calibration.kind',
      calibration.kind,
      usesStatistics
        ? 'prefill, because a transform takes statistics from the sequence'
        : 'none or offline: no transform takes statistics from the sequence',
    );
  }
}

/** The calibration that a scheme of these tensors must declare. */
export function calibrationNeedOf(tensors: readonly TensorScheme[]): CalibrationNeed {
  const quantized = tensors.flatMap((spec) => (spec.bits === 16 ? [] : [spec]));
  const values = [...new Set(quantized.flatMap(calibratedValues))];
  if (values.length > 0) return { kind: 'offline', values };
  return { kind: quantized.some(takesStatistics) ? 'prefill' : 'none' };
}

/** Whether a transform measures the sequence. */
function takesStatistics({ transforms = [] }: QuantizedTensorScheme): boolean {
  return transforms.some(isMeasured);
}

/** What a tensor takes from offline calibration. */
export function calibratedValues({ outliers, transforms, quantizer }: QuantizedTensorScheme) {
  const values: CalibrationValue[] = outliers?.kind === 'bands' ? ['thresholds'] : [];
  if (typeof quantizer.codes === 'object' && quantizer.codes.levels === 'calibrated')
    values.push('levels');
  for (const step of transforms ?? []) {
    if (isCalibrated(step)) values.push(CALIBRATED_BY[step.kind]);
  }
  return values;
}

function refuseField(label: string, field: string, value: unknown, valid: string): never {
  throw new LowbitKvError('SCHEME_INVALID', {
    message: `${label}: ${field} does not fit the rest`,
    value,
    valid,
    next: 'Correct the scheme.',
    where: { field },
  });
}
