/** The group of an element: its numbers as quantization meets them, as they are stored, and the levels there are. */
import { codeLevels, storedGroup, transformTokens } from '@lowbit-kv/core';
import type { TensorName } from '../settings.js';
import { classOf, locate, type PackedPlace } from './locate.js';
import type { SchemeRun } from './run-scheme.js';

export type GroupView =
  | { readonly kind: 'window'; readonly reason: string }
  | {
      readonly kind: 'group';
      /** After transforms. */
      readonly values: readonly number[];
      /** Decoded, before inverse transforms. */
      readonly stored: readonly number[];
      /** Of the element among them. */
      readonly index: number;
      /** Rising; null with a codec. */
      readonly levels: readonly number[] | null;
      readonly where: string;
      /** How the numbers were moved before they were rounded; empty when they were not. */
      readonly moved: string;
    };

export interface ElementPlace {
  /** Kv head of the layer. */
  readonly head: number;
  readonly token: number;
  readonly channel: number;
}

export function groupView(run: SchemeRun, tensor: TensorName, element: ElementPlace): GroupView {
  const place = locate(run, tensor, element);
  if (place.kind !== 'packed')
    return { kind: 'window', reason: reasonOf(place.kind, element.token) };
  const { plan, block, head, slot } = place;
  const { tokensPerGroup, channelsPerGroup } = plan.layout;
  const { channel } = element;
  const at = { head, slot, channel };
  const stored = storedGroup(plan, block.bytes, block.validTokens, at).values;
  const firstSlot = slot - (slot % tokensPerGroup);
  const firstChannel = channel - (channel % channelsPerGroup);
  const row = transformedRows(run, tensor, place, element.head);
  const values = stored.map((_, i) =>
    channelsPerGroup === 1 ? row(firstSlot + i)[channel] : row(slot)[firstChannel + i],
  ) as number[];
  return {
    kind: 'group',
    values,
    stored,
    index: channelsPerGroup === 1 ? slot - firstSlot : channel - firstChannel,
    levels: codeLevels(plan, block.bytes, at),
    where: whereOf(block.position, { firstSlot, firstChannel, slot, channel }, place),
    moved: (plan.scheme.transforms ?? []).length > 0 ? ' after the transforms' : '',
  };
}

/** One head of a token of the block, after the transforms. */
function transformedRows(
  run: SchemeRun,
  tensor: TensorName,
  { plan, block, head }: PackedPlace,
  modelHead: number,
) {
  const { heads, headDim } = plan;
  const rule = classOf(run, tensor, modelHead);
  const part = (first: number, count: number) =>
    tokensOf(run, tensor, block.heads, [first, count], headDim);
  const measured = part(rule.sinks, rule.statisticsTokens);
  const values = transformTokens(plan, part(block.position, block.validTokens), measured);
  return (slot: number) => {
    const at = (slot * heads + head) * headDim;
    return values.subarray(at, at + headDim);
  };
}

/** f16 bits of some tokens of some heads, `[tokens, heads, headDim]`. */
function tokensOf(
  { appended, kvHeads }: SchemeRun,
  tensor: TensorName,
  heads: readonly number[],
  [first, count]: readonly [number, number],
  headDim: number,
): Uint16Array {
  const all = appended[tensor];
  const result = new Uint16Array(count * heads.length * headDim);
  for (let token = 0; token < count; token++) {
    for (const [i, head] of heads.entries()) {
      const from = ((first + token) * kvHeads + head) * headDim;
      result.set(all.subarray(from, from + headDim), (token * heads.length + i) * headDim);
    }
  }
  return result;
}

function whereOf(
  position: number,
  at: {
    readonly firstSlot: number;
    readonly firstChannel: number;
    readonly slot: number;
    readonly channel: number;
  },
  { plan, block }: PackedPlace,
): string {
  const { tokensPerGroup, channelsPerGroup, headDim } = plan.layout;
  if (channelsPerGroup === 1) {
    const first = position + at.firstSlot;
    const last = Math.min(first + tokensPerGroup, position + block.validTokens) - 1;
    return `Channel ${at.channel}, tokens ${first} to ${last}`;
  }
  const token = position + at.slot;
  if (channelsPerGroup === headDim) return `Token ${token}, all channels of the head`;
  return `Token ${token}, channels ${at.firstChannel} to ${at.firstChannel + channelsPerGroup - 1}`;
}

function reasonOf(kind: 'f16' | 'sink' | 'tail', token: number): string {
  if (kind === 'f16')
    return 'This scheme keeps all of them in f16: there are no groups and no levels.';
  if (kind === 'sink')
    return `Token ${token} is one of the first tokens, which this scheme keeps in f16 for ever: choose a later one.`;
  return `Token ${token} is still in the f16 tail of the newest tokens, not packed yet: choose an earlier one.`;
}
