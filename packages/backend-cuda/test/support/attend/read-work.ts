/**
 * Work lists read back from their tables.
 */
import { ITEM, PAGE_ENTRY, REST_ENTRY } from '../../../src/attend/structs.js';
import type { WordTable } from '../../../src/attend/word-table.js';
import type { WorkList } from '../../../src/attend/work-list.js';
import type { Places } from './random-views.js';

type Fields<T> = Record<keyof T, number>;

function readStructs<T extends Readonly<Record<string, number>>>(
  table: WordTable,
  { bytes, fields }: { readonly bytes: number; readonly fields: T },
): Fields<T>[] {
  const view = new DataView(table.bytes.slice().buffer);
  return Array.from(
    { length: view.byteLength / bytes },
    (_, index) =>
      Object.fromEntries(
        Object.entries(fields).map(([name, offset]) => [
          name,
          view.getUint32(index * bytes + offset, true),
        ]),
      ) as Fields<T>,
  );
}

export type Item = Fields<typeof ITEM.fields>;

export function readWork(list: WorkList) {
  const pages = readStructs(list.pages, PAGE_ENTRY);
  const rests = readStructs(list.rests, REST_ENTRY);
  return { pages, rests, items: readStructs(list.items, ITEM) };
}

/** In units of 1/8 page, as items are balanced. */
export function itemCost({ pages, rests }: Item): number {
  return 8 * pages + Math.ceil(rests / 16);
}

/** Tokens of an item; throws where one comes twice, or where those on packed pages are not the first of the rest, and no more. */
export function tokensOf(
  { pages, rests }: ReturnType<typeof readWork>,
  item: Item,
  into: Places = new Map(),
): Places {
  const add = (position: number, place: string) => {
    if (into.has(position)) throw new Error(`position ${position} comes twice`);
    into.set(position, place);
  };
  for (const { key, value, position, slots } of pages.slice(
    item.firstPage,
    item.firstPage + item.pages,
  )) {
    const first = slots & 0xffff;
    for (let i = 0; i < slots >>> 16; i++)
      add(position + i, `packed ${key} ${first + i}, packed ${value} ${first + i}`);
  }
  if (item.packedRests > item.rests)
    throw new Error(`${item.packedRests} packed ones of ${item.rests} others`);
  const others = rests.slice(item.firstRest, item.firstRest + item.rests);
  for (const [index, { key, value, position }] of others.entries()) {
    const place = `${restPlace(key)}, ${restPlace(value)}`;
    if (place.includes('packed') !== index < item.packedRests)
      throw new Error(`rest ${index} of ${item.packedRests} packed ones lies at ${place}`);
    add(position, place);
  }
  return into;
}

function restPlace(word: number): string {
  const row = word % 2 ** 30;
  const source = Math.floor(word / 2 ** 30);
  if (source === 2) return `input -1 ${row}`;
  const slots = source === 0 ? 128 : 32;
  return `${source === 0 ? 'packed' : 'window'} ${Math.floor(row / slots)} ${row % slots}`;
}
