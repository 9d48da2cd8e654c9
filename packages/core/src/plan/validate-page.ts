/**
 * Checks a packed page that comes from outside against the block format (docs/block-format.md) and the law.
 */
import { LowbitKvError } from '../errors.js';
import { unpackCodes } from '../law/bits.js';
import { decodeWithCodec } from '../law/codec.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readEndOffset, readU16 } from '../law/page-bytes.js';
import { canonicalizePage } from './canonical.js';
import { OUTLIER_CHUNK, type ParameterName } from './layout.js';

const SMALLEST_NORMAL = 0x0400;
/** Scales: never subnormal, and positive but in the modes that use the sign. The others are offsets. */
const SCALES: readonly ParameterName[] = [
  'scale',
  'middleMaximum',
  'middleStep',
  'outerStep',
  'innerStep',
];

interface Place {
  readonly head?: number;
  readonly group?: number;
  readonly slot?: number;
  readonly channel?: number;
}

/**
 * Throws BLOCK_INVALID, naming tensor, layer, head and group, unless the page is what the law could have written for
 * `validTokens` tokens: finite parameters, no subnormal or wrongly signed scale, no code other than 0 beside a scale of 0,
 * outlier lists in order and inside their room, and zeros everywhere else. Groups of a codec must decode to finite values.
 */
export function validatePage(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  layer?: number,
): void {
  const { layout } = plan;
  const refuse: Refuse = (message, value, valid, place = {}) => {
    throw new LowbitKvError('BLOCK_INVALID', {
      message,
      value,
      valid,
      next: 'Export the block again; check that codes and parameters belong together and have the types of the plan.',
      where: {
        tensor: plan.tensor,
        ...(layer === undefined ? {} : { layer }),
        ...place,
        ...(place.head === undefined ? {} : { head: plan.headNumbers?.[place.head] ?? place.head }),
      },
    });
  };
  if (page.length !== layout.pageBytes)
    refuse('a page has the wrong size', page.length, `${layout.pageBytes} bytes`);
  if (!Number.isInteger(validTokens) || validTokens < 0 || validTokens > layout.blockTokens)
    refuse('a page has no such number of valid tokens', validTokens, `0 to ${layout.blockTokens}`);
  if (plan.scheme.quantizer.mode === 'codec') {
    checkCodec(plan, page, validTokens, refuse);
    checkUnused(plan, page, validTokens, refuse);
    return;
  }
  checkParameters(plan, page, validTokens, refuse);
  if (layout.sparse !== null) checkOutliers(plan, page, validTokens, refuse);
  checkCodesOfZeroScales(plan, page, validTokens, refuse);
  checkLevelCodes(plan, page, validTokens, refuse);
  checkUnused(plan, page, validTokens, refuse);
}

type Refuse = (message: string, value: unknown, valid: string, place?: Place) => never;

/** Where entry `index` of a parameter plane is. */
function placeOf({ layout }: PackedTensorPlan, head: number, index: number): Place {
  const perSlot = layout.headDim / layout.channelsPerGroup;
  const row = Math.floor(index / perSlot);
  const column = index % perSlot;
  const shared = layout.parametersShared ? {} : { head };
  if (layout.codes.rows === 'channels') return { ...shared, group: row, channel: column };
  return { ...shared, group: column, slot: row };
}

/** Calls back with the base of every block of parameters and the number of its entries in use. */
function eachParameterBlock(
  { layout }: PackedTensorPlan,
  validTokens: number,
  act: (head: number, base: number, entries: number) => void,
): void {
  const entries =
    Math.ceil(validTokens / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup);
  if (layout.parametersShared) act(0, layout.heads * layout.headBytes, entries);
  else for (let head = 0; head < layout.heads; head++) act(head, head * layout.headBytes, entries);
}

function checkParameters(
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
    for (const { name, offset } of plan.layout.parameters) {
      const isScale = SCALES.includes(name);
      for (let i = 0; i < entries; i++) {
        const bits = readU16(page, base + offset + 2 * i);
        const magnitude = bits & 0x7fff;
        const show = `bits 0x${bits.toString(16).padStart(4, '0')}`;
        if (magnitude >= 0x7c00)
          refuse(`a ${name} is not finite`, show, 'finite f16', placeOf(plan, head, i));
        if (!isScale) continue;
        if (magnitude !== 0 && magnitude < SMALLEST_NORMAL)
          refuse(
            `a ${name} is subnormal`,
            show,
            '0, or at least 2^-14 in magnitude',
            placeOf(plan, head, i),
          );
        if (bits !== magnitude && !signed)
          refuse(`a ${name} is negative`, show, 'a positive f16 or +0', placeOf(plan, head, i));
      }
    }
  });
}

function checkOutliers(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { layout } = plan;
  const { endOffsets, entries } = layout.sparse as NonNullable<typeof layout.sparse>;
  for (let head = 0; head < layout.heads; head++) {
    const base = head * layout.headBytes;
    let start = 0;
    for (let slot = 0; slot < validTokens; slot++) {
      for (let chunk = 0; chunk < endOffsets.chunks; chunk++) {
        const end = readEndOffset(page, base, layout, slot * endOffsets.chunks + chunk);
        if (end < start || end > entries.capacity)
          refuse('an outlier end offset is damaged', end, `${start} to ${entries.capacity}`, {
            head,
            slot,
            group: chunk,
          });
        const width = Math.min(OUTLIER_CHUNK, layout.headDim - chunk * OUTLIER_CHUNK);
        let least = 0;
        for (let i = start; i < end; i++) {
          const index = (page[base + entries.offset + i] as number) & 63;
          if (index < least || index >= width)
            refuse(
              'outlier indices of a chunk must rise inside it',
              index,
              `${least} to ${width - 1}`,
              {
                head,
                slot,
                group: chunk,
              },
            );
          least = index + 1;
        }
        start = end;
      }
    }
  }
}

/** The law writes code 0 where the scale is 0; anything else means that the scales got lost. */
function checkCodesOfZeroScales(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  if (plan.layout.sparse !== null) checkZeroSteps(plan, page, validTokens, refuse);
  else checkZeroScales(plan, page, validTokens, refuse);
}

function checkZeroScales(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { layout, scheme } = plan;
  const { bits, codes: plane, tokensPerGroup, channelsPerGroup } = layout;
  const perSlot = layout.headDim / channelsPerGroup;
  const scaleOffset = planeOffset(plan, 'scale');
  const zeroOffset = planeOffset(plan, 'zero');
  const codes = new Uint8Array(Math.max(tokensPerGroup, channelsPerGroup));
  eachParameterBlock(plan, validTokens, (head, base, entries) => {
    for (let i = 0; i < entries; i++) {
      const scale = readU16(page, base + scaleOffset + 2 * i);
      if (scheme.quantizer.mode === 'hybrid' && (scale & 0x8000) === 0) {
        const zero = readU16(page, base + zeroOffset + 2 * i);
        if (zero !== 0)
          refuse(
            'a symmetric group of a hybrid block has a zero',
            `bits 0x${zero.toString(16)}`,
            '+0',
            placeOf(plan, head, i),
          );
      }
      if ((scale & 0x7fff) !== 0) continue;
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

function checkZeroSteps(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { layout, scheme } = plan;
  const { heads, headBytes, headDim, codes: plane } = layout;
  const { endOffsets, entries } = layout.sparse as NonNullable<typeof layout.sparse>;
  const midRise = scheme.quantizer.codes === 'midRise';
  const nibbles = new Uint8Array(headDim);
  for (let head = 0; head < heads; head++) {
    const base = head * headBytes;
    const parameterBase = layout.parametersShared ? heads * headBytes : base;
    for (let slot = 0; slot < validTokens; slot++) {
      const isZero = (name: ParameterName) =>
        readU16(page, parameterBase + planeOffset(plan, name) + 2 * slot) === 0;
      unpackCodes(page, base + slot * plane.rowBytes, 0, headDim, 4, nibbles, 0);
      const check = (name: ParameterName, code: number, channel: number) => {
        if (code !== 0 && isZero(name))
          refuse(`a value has a code and a ${name} of zero`, code, 'code 0', {
            head,
            slot,
            channel,
          });
      };
      for (let chunk = 0; chunk < endOffsets.chunks; chunk++) {
        const index = slot * endOffsets.chunks + chunk;
        const end = readEndOffset(page, base, layout, index);
        let i = index === 0 ? 0 : readEndOffset(page, base, layout, index - 1);
        for (; i < end; i++) {
          const entry = page[base + entries.offset + i] as number;
          const channel = chunk * OUTLIER_CHUNK + (entry & 63);
          const nibble = nibbles[channel] as number;
          if ((entry & 64) !== 0) check('outerStep', nibble, channel);
          else check('innerStep', nibble | ((entry >> 7) << 4), channel);
          // What is left afterwards is the middle band.
          nibbles[channel] = 0;
        }
      }
      for (let channel = 0; channel < headDim; channel++) {
        const nibble = nibbles[channel] as number;
        if (midRise) check('middleMaximum', nibble & 7, channel);
        else check('middleStep', nibble, channel);
      }
    }
  }
}

/** A level table may have fewer levels than there are codes. */
function checkLevelCodes(
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

/** All that is known of the bytes of a codec: they decode, and to numbers. */
function checkCodec(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { heads, headDim } = plan.layout;
  const values = new Float32Array(validTokens * headDim);
  for (let head = 0; head < heads; head++) {
    try {
      decodeWithCodec(plan, page, head, 0, validTokens, values);
    } catch (error) {
      if (!LowbitKvError.is(error, 'CODEC_INVALID')) throw error;
      refuse('the codec cannot decode a group', error.value, 'bytes that it wrote', { head });
    }
    const at = values.findIndex((value) => !Number.isFinite(value));
    if (at < 0) continue;
    refuse('a group decodes to a value that is not finite', values[at], 'finite numbers', {
      head,
      slot: Math.floor(at / headDim),
      channel: at % headDim,
    });
  }
}

function checkUnused(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const canonical = page.slice();
  canonicalizePage(plan.layout, canonical, validTokens);
  const at = page.findIndex((byte, i) => byte !== canonical[i]);
  if (at >= 0)
    refuse(
      `byte ${at} of a page belongs to no valid token and is not zero`,
      page[at],
      `zeros past ${validTokens} tokens and in the padding`,
    );
}

function planeOffset({ layout }: PackedTensorPlan, name: ParameterName): number {
  return layout.parameters.find((plane) => plane.name === name)?.offset ?? -1;
}
