/**
 * One packed page: its fields with offsets and bytes, and its first group in numbers.
 */
import {
  LowbitKvError,
  movedError,
  type PackedTensorPlan,
  type PageField,
  pageFields,
  type StoredGroup,
  storedGroup,
  validatePage,
} from '@lowbit-kv/core';
import type { Colors } from '../terminal.js';

export interface PageView {
  readonly layer: number;
  readonly tensor: 'key' | 'value';
  /** Kv heads of the model layer, in the order of the head blocks. */
  readonly heads: readonly number[];
  /** Number of the page among those of its layer and tensor. */
  readonly block: number;
  readonly validTokens: number;
  /** Of the page, in the file. */
  readonly offset: number;
  readonly bytes: number;
  readonly fields: readonly FieldView[];
  readonly firstGroup: StoredGroup;
}

/** Offsets are in the file; `hex` is the beginning of the field. */
export interface FieldView extends PageField {
  readonly hex: string;
}

export interface ViewedPage extends Omit<PageView, 'fields' | 'firstGroup' | 'bytes'> {
  readonly plan: PackedTensorPlan;
  readonly page: Uint8Array;
  readonly file: string;
}

const FIRST = { head: 0, slot: 0, channel: 0 } as const;

/** Throws BLOCK_INVALID, with the offset of the page in the file, for a page that the law cannot have written. */
export function viewPage(viewed: ViewedPage, limit: number): PageView {
  const { plan, page, file, ...place } = viewed;
  try {
    validatePage(plan, page, place.validTokens, place.layer);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    throw movedError(error, { file, block: place.block, pageOffset: place.offset });
  }
  return {
    ...place,
    bytes: page.length,
    fields: pageFields(plan.layout).map((field) => ({
      ...field,
      offset: place.offset + field.offset,
      hex: hexOf(page.subarray(field.offset, field.offset + Math.min(field.bytes, limit))),
    })),
    firstGroup: storedGroup(plan, page, place.validTokens, FIRST),
  };
}

const ROW_BYTES = 16;
const ROW_CHARACTERS = 3 * ROW_BYTES;
/** Wider than the longest name of a parameter. */
const LABEL = 15;
const PAINTS = ['cyan', 'yellow', 'green', 'magenta', 'blue', 'red'] as const;

/** Lines of text; the bytes of every kind of field have a colour of their own. */
export function formatPage(view: PageView, colors: Colors): string[] {
  const { layer, tensor, heads, block, validTokens, offset, bytes } = view;
  const lines = [
    colors.bold(
      `layer ${layer} ${tensor}s, block ${block}: ${validTokens} valid tokens, ${bytes} bytes at ${address(offset)}`,
    ),
  ];
  const names = [...new Set(view.fields.map(({ name }) => name))];
  for (const field of view.fields) {
    const paint =
      colors[PAINTS[names.indexOf(field.name) % PAINTS.length] as (typeof PAINTS)[number]];
    const owner = field.head === null ? 'all heads' : `head ${heads[field.head] ?? field.head}`;
    lines.push(`${address(field.offset)}  ${paint(`${owner}: ${field.name}`)}  ${field.content}`);
    for (let at = 0; at < field.hex.length; at += ROW_CHARACTERS) {
      const row = field.hex.slice(at, at + ROW_CHARACTERS).trimEnd();
      lines.push(`${address(field.offset + at / 3)}    ${paint(row)}`);
    }
    const hidden = field.bytes - (field.hex.length + 1) / 3;
    if (hidden > 0) lines.push(colors.dim(`              ${hidden} bytes more`));
  }
  const { codes, parameters, values } = view.firstGroup;
  lines.push(
    colors.bold(`first group of head ${heads[0] ?? 0}, as stored (before inverse transforms)`),
  );
  lines.push(`  ${'codes'.padEnd(LABEL)}${codes === null ? 'of a codec' : codes.join(' ')}`);
  for (const { name, value } of parameters) lines.push(`  ${name.padEnd(LABEL)}${value}`);
  lines.push(
    `  ${'values'.padEnd(LABEL)}${values.map((value) => Number(value.toPrecision(6))).join(' ')}`,
  );
  return lines;
}

export function address(offset: number): string {
  return `0x${offset.toString(16).padStart(8, '0')}`;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
