/**
 * The fields of a packed page by name: for looking at bytes by hand.
 */
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
