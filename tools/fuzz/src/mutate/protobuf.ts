/**
 * Changes of protobuf that know its wire format: fields removed, repeated, moved, renumbered, of another wire type, with
 * edges in place of numbers, lengths that lie, and messages inside themselves.
 */
import type { Random } from '../random.js';
import { joined, mutateBytes } from './bytes.js';

interface Field {
  number: number;
  /** 0 varint, 1 eight bytes, 2 with a length, 5 four bytes. */
  wire: number;
  value: bigint | Uint8Array | Field[];
  /** Added to the length that is written. */
  lie?: number;
}

const DEEPEST = 12;
/** Shorter ones are texts more often than messages. */
const SHORTEST_MESSAGE = 2;
const VARINTS = [0n, 1n, 2n, 3n, 7n, 16n, 127n, 128n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n];
const EDGES = [...VARINTS, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];

/** One to six changes. */
export function mutateProtobuf(random: Random, bytes: Uint8Array): Uint8Array {
  const root = parse(bytes, 0);
  if (root === null || random.chance(0.05)) return mutateBytes(random, bytes);
  for (let left = 1 + random.small(6); left > 0; left--) {
    const messages = messagesIn(root);
    const message = random.pick(messages);
    if (message.length > 0) change(random, message, messages);
  }
  return write(root);
}

/** Null for bytes that are no message. */
function parse(bytes: Uint8Array, depth: number): Field[] | null {
  const fields: Field[] = [];
  const at = { offset: 0 };
  while (at.offset < bytes.length) {
    const tag = readVarint(bytes, at);
    if (tag === null || tag >> 3n === 0n || tag > 0xffffn) return null;
    const [number, wire] = [Number(tag >> 3n), Number(tag & 7n)];
    if (wire === 0) {
      const value = readVarint(bytes, at);
      if (value === null) return null;
      fields.push({ number, wire, value });
      continue;
    }
    const length = wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? readVarint(bytes, at) : null;
    if (length === null || at.offset + Number(length) > bytes.length) return null;
    const value = bytes.subarray(at.offset, at.offset + Number(length));
    at.offset += Number(length);
    const inner =
      wire === 2 && value.length >= SHORTEST_MESSAGE && depth < DEEPEST
        ? parse(value, depth + 1)
        : null;
    fields.push({ number, wire, value: inner ?? value });
  }
  return fields;
}

function readVarint(bytes: Uint8Array, at: { offset: number }): bigint | null {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[at.offset++];
    if (byte === undefined) return null;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return null;
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest <= 127n) return Uint8Array.from(bytes);
  }
}

function write(fields: readonly Field[]): Uint8Array {
  return joined(
    ...fields.flatMap(({ number, wire, value, lie = 0 }) => {
      const tag = varint((BigInt(number) << 3n) | BigInt(wire));
      if (typeof value === 'bigint') return [tag, varint(value)];
      const bytes = value instanceof Uint8Array ? value : write(value);
      const length = varint(BigInt(Math.max(0, bytes.length + lie)));
      return wire === 2 ? [tag, length, bytes] : [tag, bytes];
    }),
  );
}

function messagesIn(root: Field[]): Field[][] {
  const inner = root.flatMap(({ value }) => (Array.isArray(value) ? messagesIn(value) : []));
  return [root, ...inner];
}

function change(random: Random, message: Field[], all: readonly Field[][]): void {
  const index = random.below(message.length);
  const field = message[index] as Field;
  const kind = random.pick(KINDS);
  if (kind === 'remove') message.splice(index, 1);
  else if (kind === 'repeat') message.push(...Array(random.pick([1, 1, 2, 50])).fill(field));
  else if (kind === 'order') message.unshift(...message.splice(index, 1));
  else if (kind === 'renumber') field.number = 1 + random.small(40);
  else if (kind === 'wire') field.wire = random.pick([0, 1, 2, 3, 4, 5, 6, 7]);
  else if (kind === 'lie') field.lie = random.pick([-1, 1, 100, 2 ** 20, 2 ** 31, 2 ** 40]);
  else if (kind === 'deep') field.value = deep(field, random.pick([3, 30, 120, 3000]));
  else if (kind === 'exchange') exchange(random, field, all);
  else if (typeof field.value === 'bigint') field.value = edge(random, field.value);
  else if (field.value instanceof Uint8Array) field.value = mutateBytes(random, field.value);
  else field.value = mutateBytes(random, write(field.value));
}

const KINDS = [
  ...['remove', 'repeat', 'order', 'renumber', 'wire', 'lie', 'deep'],
  ...['exchange', 'exchange', 'exchange', 'value', 'value', 'value'],
] as const;

function edge(random: Random, value: bigint): bigint {
  if (random.chance(0.4)) return random.pick([value + 1n, value > 0n ? value - 1n : 1n]);
  return random.pick(EDGES);
}

/** A field inside itself. */
function deep({ number, wire, value }: Field, depth: number): Field['value'] {
  if (wire !== 2) return value;
  let bytes = value instanceof Uint8Array ? value : write(value as Field[]);
  for (let i = 0; i < depth; i++) bytes = write([{ number, wire: 2, value: bytes }]);
  return bytes;
}

/** Takes the value of another field of the same wire type: names of values meet elsewhere. */
function exchange(random: Random, field: Field, all: readonly Field[][]): void {
  const alike = random.chance(0.8)
    ? all.flat().filter(({ wire, number }) => wire === field.wire && number === field.number)
    : all.flat().filter(({ wire }) => wire === field.wire);
  const { value } = random.pick(alike);
  // As bytes: a message inside itself has no end.
  field.value = Array.isArray(value) ? write(value) : value;
}
