/**
 * The fields of a packed page by name, and its first group in numbers: for looking at bytes by hand.
 */
import { unpackCodes } from '../law/bits.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readNumber } from '../law/page-bytes.js';
import { parameterValue } from '../law/parameters.js';
import { type BlockLayout, PARAMETER_BYTES, type ParameterName } from './layout.js';

export interface PageField {
  readonly name:
    | 'codes'
    | ParameterName
    | 'end offsets'
    | 'outliers'
    | 'outlier values'
    | 'outlier channels';
  /** Of the unit; null in the plane that all heads share. */
  readonly head: number | null;
  /** From the start of the page. */
  readonly offset: number;
  readonly bytes: number;
  /** What the bytes are, such as `128 x f16`. */
  readonly content: string;
}

/** Planes of a page in the order of their offsets, without padding (docs/block-format.md 2 to 5). */
export function pageFields(layout: BlockLayout): PageField[] {
  const { codes, sparse, top, blockTokens } = layout;
  const fields: PageField[] = [];
  const add = (
    name: PageField['name'],
    head: number | null,
    at: number,
    [count, size, type]: readonly [number, number, string],
  ) => {
    const base = (head ?? layout.heads) * layout.headBytes;
    fields.push({
      name,
      head,
      offset: base + at,
      bytes: count * size,
      content: `${count} x ${type}`,
    });
  };
  const parameters = (head: number | null) => {
    for (const { name, type, offset, count } of layout.parameters)
      add(name, head, offset, [count, PARAMETER_BYTES[type], type]);
  };
  for (let head = 0; head < layout.heads; head++) {
    const row = `${codes.rowBytes} bytes (rows of ${codes.rows})`;
    add('codes', head, codes.offset, [codes.rowCount, codes.rowBytes, row]);
    if (!layout.parametersShared) parameters(head);
    if (sparse !== null) {
      const { offset, chunks, entryBytes } = sparse.endOffsets;
      add('end offsets', head, offset, [blockTokens * chunks, entryBytes, `u${8 * entryBytes}`]);
      add('outliers', head, sparse.entries.offset, [sparse.entries.capacity, 1, 'u8 at most']);
    }
    if (top !== undefined) {
      const entries = blockTokens * top.count;
      const { offset, entryBytes } = top.channels;
      add('outlier values', head, top.values.offset, [entries, 2, 'f16']);
      add('outlier channels', head, offset, [entries, entryBytes, `u${8 * entryBytes}`]);
    }
  }
  if (layout.parametersShared) parameters(null);
  return fields;
}

/** The first group of head 0, as stored. */
export interface StoredGroup {
  /** Null with a codec: only the codec knows what its bytes mean. */
  readonly codes: readonly number[] | null;
  readonly parameters: readonly { readonly name: ParameterName; readonly value: number }[];
  /** Decoded, before inverse transforms; outliers in their places. */
  readonly values: readonly number[];
}

/** Groups along tokens: channel 0 of the valid slots in the group. Others: the first channels of slot 0. */
export function firstGroup(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
): StoredGroup {
  const { layout } = plan;
  const tokens = Math.min(layout.tokensPerGroup, validTokens);
  const size = tokens * layout.channelsPerGroup;
  const codes = new Uint8Array(size);
  if (layout.codes.rows !== 'groups')
    unpackCodes(page, layout.codes.offset, 0, size, layout.bits, codes, 0);
  const base = layout.parametersShared ? layout.heads * layout.headBytes : 0;
  const decoded = new Float32Array(tokens * layout.headDim);
  decodeTokens(plan, page, 0, 0, tokens, decoded);
  return {
    codes: layout.codes.rows === 'groups' ? null : [...codes],
    parameters: layout.parameters.map(({ name, type, offset }) => ({
      name,
      value: parameterValue(type)(readNumber(page, base + offset, PARAMETER_BYTES[type])),
    })),
    values:
      layout.channelsPerGroup === 1
        ? Array.from({ length: tokens }, (_, slot) => decoded[slot * layout.headDim] as number)
        : [...decoded.subarray(0, size)],
  };
}
