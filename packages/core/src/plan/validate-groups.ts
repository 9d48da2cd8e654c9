/**
 * Checks parameters of a packed page, and codes against the parameters and levels of their groups.
 */
import { unpackCodes } from '../law/bits.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readNumber } from '../law/page-bytes.js';
import { SCALE_SIGN } from '../law/parameters.js';
import type { ParameterType } from '../scheme.js';
import { PARAMETER_BYTES, type ParameterName } from './layout.js';
import { eachParameterBlock, placeOf, type Refuse } from './page-place.js';

/** Scales: never subnormal, and positive but in the modes that use the sign. The others are offsets. */
const SCALES: readonly ParameterName[] = [
  'scale',
  'middleMaximum',
  'middleStep',
  'outerStep',
  'innerStep',
];

interface BitFormat {
  readonly sign: number;
  /** The smallest magnitude that is no finite number. */
  readonly notFinite: number;
  /** The smallest magnitude of a scale that is not 0. */
  readonly smallestScale: number;
  readonly smallest: string;
}

const FORMATS: Readonly<Record<ParameterType, BitFormat>> = {
  f16: { sign: 0x8000, notFinite: 0x7c00, smallestScale: 0x0400, smallest: '2^-14' },
  f32: { sign: 0x80000000, notFinite: 0x7f800000, smallestScale: 0x00800000, smallest: '2^-126' },
  e4m3: { sign: 0x80, notFinite: 0x7f, smallestScale: 1, smallest: '2^-9' },
  e8m0: { sign: 0, notFinite: 0xff, smallestScale: 1, smallest: '2^-126' },
};

/** Parameters are finite, scales neither subnormal nor wrongly signed. */
export function checkParameters(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { quantizer } = plan.scheme;
  const signed =
    quantizer.mode === 'hybrid' ||
    (quantizer.mode === 'symmetric' && quantizer.codes === 'fullSigned');
  eachParameterBlock(plan, validTokens, (head, base, entries) => {
    for (const { name, type, offset } of plan.layout.parameters) {
      const bytes = PARAMETER_BYTES[type];
      for (let i = 0; i < entries; i++) {
        const bits = readNumber(page, base + offset + bytes * i, bytes);
        const fault = parameterFault(bits, type, SCALES.includes(name), signed);
        if (fault === null) continue;
        const show = `bits 0x${bits.toString(16).padStart(2 * bytes, '0')}`;
        refuse(`a ${name} is ${fault.is}`, show, fault.valid, placeOf(plan, head, i));
      }
    }
  });
}

function parameterFault(
  bits: number,
  type: ParameterType,
  isScale: boolean,
  signed: boolean,
): { readonly is: string; readonly valid: string } | null {
  const { sign, notFinite, smallestScale, smallest } = FORMATS[type];
  const magnitude = (bits & ~sign) >>> 0;
  if (magnitude >= notFinite) return { is: 'not finite', valid: `finite ${type}` };
  if (!isScale) return null;
  if (magnitude !== 0 && magnitude < smallestScale)
    return { is: 'subnormal', valid: `0, or at least ${smallest} in magnitude` };
  if (bits !== magnitude && !signed) return { is: 'negative', valid: `a positive ${type} or +0` };
  return null;
}

/** The law writes code 0 where the scale is 0; anything else means that the scales got lost. */
export function checkZeroScales(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { layout, scheme } = plan;
  const scaleOf = planeReader(plan, page, 'scale');
  if (scaleOf === null) return;
  const zeroOf = planeReader(plan, page, 'zero');
  const sign = SCALE_SIGN[scheme.parameters.scale ?? 'f16'];
  const { bits, codes: plane, tokensPerGroup, channelsPerGroup } = layout;
  const perSlot = layout.headDim / channelsPerGroup;
  const codes = new Uint8Array(Math.max(tokensPerGroup, channelsPerGroup));
  eachParameterBlock(plan, validTokens, (head, base, entries) => {
    for (let i = 0; i < entries; i++) {
      const scale = scaleOf(base, i);
      if (scheme.quantizer.mode === 'hybrid' && (scale & sign) === 0) {
        const zero = zeroOf?.(base, i) ?? 0;
        if (zero !== 0)
          refuse(
            'a symmetric group of a hybrid block has a zero',
            `bits 0x${zero.toString(16)}`,
            '+0',
            placeOf(plan, head, i),
          );
      }
      if ((scale & ~sign) !== 0) continue;
      const row = Math.floor(i / perSlot);
      const column = i % perSlot;
      const alongTokens = plane.rows === 'channels';
      const rowOffset = base + plane.offset + (alongTokens ? column : row) * plane.rowBytes;
      const skip = alongTokens ? row * tokensPerGroup : column * channelsPerGroup;
      const count = alongTokens ? Math.min(tokensPerGroup, validTokens - skip) : channelsPerGroup;
      unpackCodes(page, rowOffset, skip, count, bits, codes, 0);
      const code = codes.subarray(0, count).find((value) => value !== 0);
      if (code !== undefined)
        refuse('a group has codes and a scale of zero', code, 'code 0', placeOf(plan, head, i));
    }
  });
}

/** A level table may have fewer levels than there are codes. */
export function checkLevelCodes(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { layout, scheme } = plan;
  if (typeof scheme.quantizer.codes !== 'object') return;
  const count = scheme.quantizer.codes.levels.length;
  const alongTokens = layout.codes.rows === 'channels';
  const [rows, width] = alongTokens ? [layout.headDim, validTokens] : [validTokens, layout.headDim];
  const codes = new Uint8Array(width);
  for (let head = 0; head < layout.heads; head++) {
    for (let row = 0; row < rows; row++) {
      const offset = head * layout.headBytes + layout.codes.offset + row * layout.codes.rowBytes;
      unpackCodes(page, offset, 0, width, layout.bits, codes, 0);
      const at = codes.findIndex((code) => code >= count);
      if (at < 0) continue;
      const [slot, channel] = alongTokens ? [at, row] : [row, at];
      refuse('a code has no level', codes[at], `0 to ${count - 1}`, { head, slot, channel });
    }
  }
}

/** Reads bits of one parameter plane from a block that starts at `base`; null when groups store no such parameter. */
function planeReader(
  { layout }: PackedTensorPlan,
  page: Uint8Array,
  name: ParameterName,
): ((base: number, entry: number) => number) | null {
  const plane = layout.parameters.find((candidate) => candidate.name === name);
  if (plane === undefined) return null;
  const bytes = PARAMETER_BYTES[plane.type];
  return (base, entry) => readNumber(page, base + plane.offset + bytes * entry, bytes);
}
