/**
 * Checks the outlier bands of a packed page: lists in order and inside their room, no code beside a step of zero.
 */
import { unpackCodes } from '../law/bits.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readEndOffset, readU16 } from '../law/page-bytes.js';
import { OUTLIER_CHUNK, type ParameterName } from './layout.js';
import type { Refuse } from './page-place.js';

export function checkBands(
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

/** The law writes code 0 where a step is 0; anything else means that the steps got lost. */
export function checkBandSteps(
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

function planeOffset({ layout }: PackedTensorPlan, name: ParameterName): number {
  return layout.parameters.find((plane) => plane.name === name)?.offset ?? -1;
}
