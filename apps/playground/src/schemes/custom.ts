/** A scheme of the visitor's own, as JSON text: the real validator, and where in the text its complaint belongs. */
import { defineScheme, LowbitKvError, type Scheme, schemeDataOf } from '@lowbit-kv/core';
import {
  findNodeAtLocation,
  type JSONPath,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';

/** Characters `[start, end)` of the text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export type CustomScheme =
  | { readonly kind: 'scheme'; readonly scheme: Scheme }
  | { readonly kind: 'fault'; readonly message: string; readonly range: TextRange };

export function parseCustom(text: string): CustomScheme {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [error] = errors;
  if (tree === undefined || error !== undefined) {
    const start = Math.min(error?.offset ?? 0, text.length);
    const reason = error === undefined ? 'nothing' : spaced(printParseErrorCode(error.error));
    return {
      kind: 'fault',
      message: `This is no JSON: ${reason} in line ${lineOf(text, start)}.`,
      range: { start, end: Math.min(text.length, start + Math.max(1, error?.length ?? 1)) },
    };
  }
  try {
    return { kind: 'scheme', scheme: defineScheme(JSON.parse(text) as Scheme) };
  } catch (fault) {
    if (!LowbitKvError.is(fault)) throw fault;
    const range = rangeOf(tree, pathOf(fault.where?.field));
    return { kind: 'fault', message: fault.message, range };
  }
}

/** The text to start from: a scheme as it is serialised, under another name. */
export function textOf(scheme: Scheme): string {
  const { id, title, references: _, ...rest } = schemeDataOf(scheme);
  return JSON.stringify({ ...rest, id: 'my-scheme', title: `My scheme, from ${id}` }, ordered(), 2);
}

/** Names first. */
function ordered() {
  return function order(this: unknown, key: string, value: unknown): unknown {
    if (key !== '' || typeof value !== 'object' || value === null) return value;
    const { specVersion, id, title, ...rest } = value as Record<string, unknown>;
    return { specVersion, id, title, ...rest };
  };
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** `key.groups.size` and `overrides[0].layers` as the parser wants them. */
function pathOf(field: unknown): JSONPath {
  if (typeof field !== 'string') return [];
  return [...field.matchAll(/[^.[\]]+/g)].map(([part]) =>
    /^\d+$/.test(part) ? Number(part) : part,
  );
}

/** Of a value with its name; of what is missing, the nearest thing around it that is there. */
function rangeOf(tree: Node, path: JSONPath): TextRange {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node === undefined) continue;
    const named = node.parent?.type === 'property' ? node.parent : node;
    return { start: named.offset, end: named.offset + named.length };
  }
  return { start: tree.offset, end: tree.offset + 1 };
}

function spaced(words: string): string {
  return words.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
