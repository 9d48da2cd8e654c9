/** What a byte of a packed block means, in words: docs/block-format.md of core, read backwards. */
import { f16ToF32, PARAMETER_BYTES, type PageField, storedGroup } from '@lowbit-kv/core';
import { precise } from '../view/text.js';
import type { PackedPlace } from './locate.js';

type Location = Pick<PackedPlace, 'plan' | 'block'>;

/** One sentence for each kind of field. */
export const FIELD_MEANING: Readonly<Record<PageField['name'], string>> = {
  codes: 'the level that each number was rounded to',
  scale: 'what one step of a code is worth, for each group',
  zero: 'the number that code 0 stands for, for each group',
  middleMaximum: 'the largest of the ordinary numbers of each group',
  middleMinimum: 'the smallest of the ordinary numbers of each group',
  middleStep: 'what one step of an ordinary code is worth',
  outerMinimum: 'where the very large numbers of each group begin',
  outerStep: 'what one step of a very large number is worth',
  innerMinimum: 'where the very small numbers of each group begin',
  innerStep: 'what one step of a very small number is worth',
  'end offsets': 'where the outliers of each token end',
  outliers: 'which channels hold very large or very small numbers',
  'outlier values': 'the largest numbers of each token, kept in f16',
  'outlier channels': 'the channels those numbers belong to',
};

/** `byte` counts from the start of the field. */
export function explainByte(location: Location, field: PageField, byte: number): string {
  switch (field.name) {
    case 'codes':
      return explainCodes(location, field, byte);
    case 'end offsets':
      return explainEndOffset(location, field, byte);
    case 'outliers':
      return explainOutlier(location, field, byte);
    case 'outlier values':
    case 'outlier channels':
      return explainTop(location, field, byte);
    default:
      return explainParameter(location, field, byte);
  }
}

/** The byte of a field that an element is in, from the start of the field. */
export function byteOfElement(
  { plan, block }: Location,
  field: PageField,
  { slot, channel }: { readonly slot: number; readonly channel: number },
): number {
  const { layout } = plan;
  const { codes, headDim, tokensPerGroup, channelsPerGroup, bits, sparse, top } = layout;
  const entry =
    channelsPerGroup === 1
      ? Math.floor(slot / tokensPerGroup) * headDim + channel
      : slot * (headDim / channelsPerGroup) + Math.floor(channel / channelsPerGroup);
  switch (field.name) {
    case 'codes': {
      if (codes.rows === 'groups') return entry * codes.rowBytes;
      const [row, code] = codes.rows === 'channels' ? [channel, slot] : [slot, channel];
      return row * codes.rowBytes + Math.floor((code * bits) / 8);
    }
    case 'end offsets':
      return slot * (sparse?.endOffsets.chunks ?? 0) * (sparse?.endOffsets.entryBytes ?? 0);
    case 'outliers': {
      const chunks = sparse?.endOffsets.chunks ?? 0;
      return slot === 0 ? 0 : endOffset({ plan, block }, field.head ?? 0, slot * chunks - 1);
    }
    case 'outlier values':
      return slot * (top?.count ?? 0) * 2;
    case 'outlier channels':
      return slot * (top?.count ?? 0) * (top?.channels.entryBytes ?? 0);
    default:
      return entry * parameterBytes(plan, field);
  }
}

function explainCodes({ plan, block }: Location, field: PageField, byte: number): string {
  const { codes, bits, blockTokens, headDim } = plan.layout;
  const row = Math.floor(byte / codes.rowBytes);
  const inRow = byte % codes.rowBytes;
  if (codes.rows === 'groups')
    return `Byte ${inRow} of group ${row}, encoded by the scheme’s own codec ${plan.codec?.id ?? ''}.`;
  const alongTokens = codes.rows === 'channels';
  const length = alongTokens ? blockTokens : headDim;
  const first = Math.floor((8 * inRow) / bits);
  const last = Math.min(Math.floor((8 * inRow + 7) / bits), length - 1);
  if (first >= length) return 'Padding: rows end on whole words of 32 bits.';
  const values = Array.from({ length: last - first + 1 }, (_, i) =>
    codeAt(block.bytes, field.offset + row * codes.rowBytes, first + i, bits),
  ).join(', ');
  const several = last > first ? 's' : '';
  if (!alongTokens) {
    if (row >= block.validTokens) return 'A token that this block does not hold yet.';
    const channels = several ? `channels ${first} to ${last}` : `channel ${first}`;
    return `Code${several} of token ${block.position + row}, ${channels}: ${values}, lowest bits first.`;
  }
  if (first >= block.validTokens) return 'Tokens that this block does not hold yet.';
  const [from, to] = [block.position + first, block.position + last];
  return `Code${several} of channel ${row}, ${several ? `tokens ${from} to ${to}` : `token ${from}`}: ${values}, lowest bits first.`;
}

function explainParameter({ plan, block }: Location, field: PageField, byte: number): string {
  const { headDim, tokensPerGroup, channelsPerGroup, parametersShared } = plan.layout;
  const size = parameterBytes(plan, field);
  const entry = Math.floor(byte / size);
  const perSlot = headDim / channelsPerGroup;
  const alongTokens = channelsPerGroup === 1;
  const slot = alongTokens
    ? Math.floor(entry / headDim) * tokensPerGroup
    : Math.floor(entry / perSlot);
  const channel = alongTokens ? entry % headDim : (entry % perSlot) * channelsPerGroup;
  if (slot >= block.validTokens) return 'A group of tokens that this block does not hold yet.';
  const place = { head: field.head ?? 0, slot, channel };
  const { parameters } = storedGroup(plan, block.bytes, block.validTokens, place);
  const value = parameters.find(({ name }) => name === field.name)?.value ?? Number.NaN;
  const token = block.position + slot;
  const last = Math.min(token + tokensPerGroup, block.position + block.validTokens) - 1;
  const group = alongTokens
    ? `channel ${channel}, tokens ${token} to ${last}`
    : parametersShared
      ? `token ${token}, all heads`
      : channelsPerGroup === headDim
        ? `token ${token}, all channels`
        : `token ${token}, channels ${channel} to ${channel + channelsPerGroup - 1}`;
  const part = size === 1 ? '' : `, byte ${(byte % size) + 1} of ${size}`;
  return `${capital(spaced(field.name))} of ${group}: ${precise(value)}${part}.`;
}

function explainEndOffset(location: Location, field: PageField, byte: number): string {
  const { plan, block } = location;
  const { entryBytes, chunks } = (plan.layout.sparse as NonNullable<typeof plan.layout.sparse>)
    .endOffsets;
  const entry = Math.floor(byte / entryBytes);
  const slot = Math.floor(entry / chunks);
  if (slot >= block.validTokens) return 'A token that this block does not hold yet.';
  const end = endOffset(location, field.head ?? 0, entry);
  const before = entry === 0 ? 0 : endOffset(location, field.head ?? 0, entry - 1);
  const channels = chunks === 1 ? '' : `, channels from ${64 * (entry % chunks)} on`;
  return `Token ${block.position + slot}${channels}: its outliers end at ${end}, so it has ${end - before}.`;
}

function explainOutlier(location: Location, field: PageField, byte: number): string {
  const { plan, block } = location;
  const { chunks } = (plan.layout.sparse as NonNullable<typeof plan.layout.sparse>).endOffsets;
  const total = block.validTokens * chunks;
  let entry = 0;
  while (entry < total && endOffset(location, field.head ?? 0, entry) <= byte) entry++;
  if (entry === total) return 'Room for outliers that is not used.';
  const value = block.bytes[field.offset + byte] as number;
  const channel = 64 * (entry % chunks) + (value & 63);
  const band = (value & 64) !== 0 ? 'very large' : 'very small';
  return `Token ${block.position + Math.floor(entry / chunks)}, channel ${channel}: a ${band} number, the fifth bit of its code is ${value >> 7}.`;
}

function explainTop({ plan, block }: Location, field: PageField, byte: number): string {
  const top = plan.layout.top as NonNullable<typeof plan.layout.top>;
  const size = field.name === 'outlier values' ? 2 : top.channels.entryBytes;
  const entry = Math.floor(byte / size);
  const slot = Math.floor(entry / top.count);
  if (slot >= block.validTokens) return 'A token that this block does not hold yet.';
  const stored = littleEndian(block.bytes, field.offset + entry * size, size);
  const what = field.name === 'outlier values' ? precise(f16ToF32(stored)) : `channel ${stored}`;
  return `Token ${block.position + slot}, outlier ${(entry % top.count) + 1} of ${top.count}: ${what}.`;
}

function endOffset({ plan, block }: Location, head: number, entry: number): number {
  const { headBytes, sparse } = plan.layout;
  const { offset, entryBytes } = (sparse as NonNullable<typeof sparse>).endOffsets;
  return littleEndian(block.bytes, head * headBytes + offset + entry * entryBytes, entryBytes);
}

function parameterBytes({ layout }: Location['plan'], field: PageField): number {
  const plane = layout.parameters.find(({ name }) => name === field.name);
  return plane === undefined ? 1 : PARAMETER_BYTES[plane.type];
}

function codeAt(bytes: Uint8Array, row: number, code: number, bits: number): number {
  const bit = code * bits;
  return (littleEndian(bytes, row + (bit >> 3), 2) >> (bit & 7)) & (2 ** bits - 1);
}

function littleEndian(bytes: Uint8Array, offset: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + (bytes[offset + i] ?? 0);
  return value;
}

function spaced(name: string): string {
  return name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
