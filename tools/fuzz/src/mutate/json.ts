/**
 * Changes of JSON that know its structure: wrong types, edges of numbers, members that come twice or have names that every
 * object inherits, deep nesting, and text that is no JSON.
 */
import type { Random } from '../random.js';
import { mutateBytes } from './bytes.js';
import {
  type JsonNode,
  type JsonPlace,
  type ObjectNode,
  placesIn,
  raw,
  scalar,
  textOf,
  treeOf,
} from './json-tree.js';

const NUMBERS = [
  ...['0', '-0', '1', '-1', '2', '0.5', '255', '256', '65536', '2147483647', '2147483648'],
  ...['4294967296', '1e9', '9007199254740991', '9007199254740993', '-9007199254740993'],
  ...['1e15', '1e300', '1e400', '-1e400', '5e-324', 'NaN', 'Infinity', '-Infinity', '01', '1e'],
  ...['18446744073709551615', '3.0', '1e0'],
];
/** What every object has without having been given it. */
export const INHERITED = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];
export const STRINGS = [
  ...['', ' ', '0', '-1', 'null', 'NaN', '\0', '\u001b[31m', '\ud800', 'é😀', 'a'.repeat(300)],
  ...['x'.repeat(100_000), '../x', '../../../../x', '/tmp/x', 'C:\\x', '..\\x', './x', 'a/../../x'],
  ...['<script>alert(1)</script>', '"', '\\', '%2e%2e/x', ...INHERITED],
];
const DEPTHS = [2, 20, 200, 2000, 50_000];

/** The text of `value` after one to four changes. */
export function mutateJson(random: Random, value: unknown): Uint8Array {
  const root = { node: treeOf(value) };
  for (let left = 1 + random.small(4); left > 0; left--) changeTree(random, root);
  const bytes = new TextEncoder().encode(textOf(root.node));
  return random.chance(0.08) ? mutateBytes(random, bytes) : bytes;
}

function changeTree(random: Random, root: { node: JsonNode }): void {
  const places = placesIn(root);
  const place = random.pick(places);
  random.pick(CHANGES)(random, place, places);
}

type Change = (random: Random, place: JsonPlace, all: readonly JsonPlace[]) => void;

const CHANGES: readonly Change[] = [
  (random, place) => place.replace(other(random, place.node)),
  (random, place) => place.replace(other(random, place.node)),
  (random, place) => place.replace(neighbour(random, place.node)),
  (random, place) => place.replace(anyScalar(random)),
  (_, place) => place.replace(undefined),
  (random, place, all) => place.replace(copyOf(random, all)),
  (random, place) => place.replace(nested(random, place.node)),
  changeMember,
  changeMember,
  changeMember,
  changeArray,
];

/** Another value of the same type, where there is one. */
function other(random: Random, node: JsonNode): JsonNode {
  if (node.kind !== 'scalar') return raw(random.pick(['{}', '[]', 'null', '""', '[null]', '[[]]']));
  return node.text.startsWith('"') ? scalar(random.pick(STRINGS)) : raw(random.pick(NUMBERS));
}

function neighbour(random: Random, node: JsonNode): JsonNode {
  const value = node.kind === 'scalar' ? Number(node.text) : Number.NaN;
  if (Number.isNaN(value)) return other(random, node);
  return scalar(random.pick([value + 1, value - 1, -value, value / 2, value * 2, value + 0.5]));
}

function anyScalar(random: Random): JsonNode {
  const text = random.pick(['null', 'true', 'false', '[]', '{}', 'string', 'number']);
  if (text === 'string') return scalar(random.pick(STRINGS));
  return raw(text === 'number' ? random.pick(NUMBERS) : text);
}

function nested(random: Random, node: JsonNode): JsonNode {
  const depth = random.pick(DEPTHS);
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
  ] as const);
  return raw(open.repeat(depth) + textOf(node) + close.repeat(depth));
}

function changeMember(random: Random, place: JsonPlace, all: readonly JsonPlace[]): void {
  const object = place.owner?.object ?? (place.node.kind === 'object' ? place.node : undefined);
  if (object === undefined) {
    place.replace(other(random, place.node));
    return;
  }
  const index = place.owner?.index ?? random.below(object.members.length);
  const [name, value] = object.members[index] ?? ['', raw('null')];
  const change = random.pick(['twice', 'rename', 'inherited', 'unknown', 'order', 'misspell']);
  if (change === 'twice') insert(random, object, name, copyOf(random, all));
  else if (change === 'rename') object.members[index] = [random.pick(STRINGS), value];
  else if (change === 'misspell') object.members[index] = [`${name}s`, value];
  else if (change === 'unknown') insert(random, object, 'unknown', copyOf(random, all));
  else if (change === 'order') object.members.push(...object.members.splice(index, 1));
  else insert(random, object, random.pick(INHERITED), pollution(random, object, all));
}

/** Of any place. As text: a node inside itself has no end. */
function copyOf(random: Random, all: readonly JsonPlace[]): JsonNode {
  return raw(textOf(random.pick(all).node));
}

function insert(random: Random, object: ObjectNode, name: string, value: JsonNode): void {
  object.members.splice(random.below(object.members.length + 1), 0, [name, value]);
}

/** Would be seen on every object if it got to where methods are inherited from. */
function pollution(random: Random, object: ObjectNode, all: readonly JsonPlace[]): JsonNode {
  const polluted = random.pick([
    '{"polluted":true}',
    '{"prototype":{"polluted":true}}',
    'null',
    '"text"',
    '[]',
  ]);
  if (random.chance(0.4)) return { kind: 'object', members: [...object.members] };
  return random.chance(0.2) ? copyOf(random, all) : raw(polluted);
}

function changeArray(random: Random, place: JsonPlace): void {
  const { node } = place;
  if (node.kind !== 'array' || node.items.length === 0) {
    place.replace(other(random, node));
    return;
  }
  const index = random.below(node.items.length);
  const item = node.items[index] as JsonNode;
  const change = random.pick(['repeat', 'cut', 'swap', 'longer', 'hole']);
  if (change === 'repeat') node.items.splice(index, 0, item);
  else if (change === 'cut') node.items.length = index;
  else if (change === 'swap') node.items.unshift(...node.items.splice(index, 1));
  else if (change === 'hole') node.items.splice(index, 0, raw('null'));
  else node.items.push(...Array<JsonNode>(random.pick([10, 1000])).fill(raw('0')));
}
