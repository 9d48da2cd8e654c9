/**
 * Encodes and decodes the groups of a tensor by its codec, docs/law.md 15: the law knows where groups lie, the codec what
 * is in them.
 */
import type { GroupCodec } from '../codec.js';
import { LowbitKvError } from '../errors.js';
import type { BlockLayout } from '../plan/layout.js';
import type { PackedTensorPlan } from './encode.js';
import { loadValues } from './tile.js';
import type { Transforms } from './transforms.js';

/** See encodeTokens. `count` is whole groups. */
export function encodeWithCodec(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  transforms: Transforms | null,
  page: Uint8Array,
  slot: number,
): void {
  const { layout } = plan;
  const { heads, headDim, tokensPerGroup, codes } = layout;
  const size = groupSize(layout);
  const tile = new Float32Array(tokensPerGroup * headDim);
  // Groups along tokens lie one channel after another.
  const channelMajor = layout.channelsPerGroup === 1;
  withCodec(plan, 'encode', (codec) => {
    for (let head = 0; head < heads; head++) {
      for (let first = 0; first < count; first += tokensPerGroup) {
        loadValues(
          { tokens, heads, headDim, first, count: tokensPerGroup, head, channelMajor },
          transforms,
          tile,
        );
        let at = groupOffset(layout, head, slot + first);
        for (let i = 0; i < tile.length; i += size, at += codes.rowBytes)
          codec.encodeGroup(tile.subarray(i, i + size), page.subarray(at, at + codes.rowBytes));
      }
    }
  });
}

/** See decodeTokens. */
export function decodeWithCodec(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  output: Float32Array,
): void {
  const { layout } = plan;
  const { headDim, tokensPerGroup, channelsPerGroup, codes } = layout;
  const values = new Float32Array(groupSize(layout));
  const end = slot + count;
  const firstRow = Math.floor(slot / tokensPerGroup) * tokensPerGroup;
  withCodec(plan, 'decode', (codec) => {
    for (let start = firstRow; start < end; start += tokensPerGroup) {
      const from = Math.max(slot, start);
      const until = Math.min(end, start + tokensPerGroup);
      let at = groupOffset(layout, head, start);
      for (let channel = 0; channel < headDim; channel += channelsPerGroup, at += codes.rowBytes) {
        codec.decodeGroup(page.subarray(at, at + codes.rowBytes), values);
        for (let token = from; token < until; token++) {
          const first = (token - start) * channelsPerGroup;
          const part = values.subarray(first, first + channelsPerGroup);
          output.set(part, (token - slot) * headDim + channel);
        }
      }
    }
  });
}

/** Elements of a group. */
function groupSize({ tokensPerGroup, channelsPerGroup }: BlockLayout): number {
  return tokensPerGroup * channelsPerGroup;
}

/** Where the groups of the run of tokens that begins at a slot start. */
function groupOffset(layout: BlockLayout, head: number, slot: number): number {
  const { headBytes, headDim, tokensPerGroup, channelsPerGroup, codes } = layout;
  const group = (slot / tokensPerGroup) * (headDim / channelsPerGroup);
  return head * headBytes + codes.offset + group * codes.rowBytes;
}

/** Throws CODEC_MISSING, and CODEC_INVALID in place of whatever the codec throws. */
function withCodec(
  { codec, tensor, scheme }: PackedTensorPlan,
  action: string,
  act: (codec: GroupCodec) => void,
): void {
  if (codec === undefined) {
    throw new LowbitKvError('CODEC_MISSING', {
      message: 'the plan does not carry its codec',
      value: scheme.quantizer.codes,
      valid: 'a plan made by createPlan',
      next: 'Make the plan again; codecs do not survive JSON.',
      where: { tensor },
    });
  }
  try {
    act(codec);
  } catch (cause) {
    throw new LowbitKvError('CODEC_INVALID', {
      message: `the codec ${JSON.stringify(codec.id)} cannot ${action} a group`,
      value: String(cause),
      valid: 'a codec that takes any values, and any bytes that it wrote',
      next: 'Report it to the authors of the scheme.',
      where: { tensor },
      cause,
    });
  }
}
