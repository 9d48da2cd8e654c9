/**
 * The WGSL text of a codec, made fit to stand beside other text: everything it declares gets a prefix, and what it may use is
 * declared before it.
 */
import type { GroupCodec } from '@lowbit-kv/core';
import type { Piece } from './compose.js';

/** Names that the text uses without declaring them. */
const GIVEN = ['GROUP_SIZE', 'GROUP_BYTES', 'GROUP_WORDS', 'codecByte'];
const DECLARATION =
  /^\s*(?:@\w+(?:\([^)]*\))?\s*)*(?:fn|const|struct|alias|override|var(?:\s*<[^>]*>)?)\s+(\w+)/;

/** `${prefix}decodeGroup` and `${prefix}encodeGroup`; `wordAt` is WGSL of the word of a page number `index`. */
export function codecText(codec: GroupCodec, prefix: string, wordAt: string): Piece {
  const { groupSize, groupBytes, wgsl = '' } = codec;
  const text = [
    `const GROUP_SIZE = ${groupSize}u;`,
    `const GROUP_BYTES = ${groupBytes}u;`,
    `const GROUP_WORDS = ${Math.ceil(groupBytes / 4)}u;`,
    'fn codecByte(offset: u32) -> u32 {',
    '  let index = offset / 4u;',
    `  return extractBits(${wordAt}, offset % 4u * 8u, 8u);`,
    '}',
    withoutComments(wgsl),
  ].join('\n');
  return { text: renamed(text, [...GIVEN, ...declaredNames(withoutComments(wgsl))], prefix) };
}

/** Names of members and of components, which follow a point, are not names of declarations. */
function renamed(text: string, names: readonly string[], prefix: string): string {
  const known = new Set(names);
  return text.replace(/(?<![\w.])[A-Za-z_]\w*/g, (name) =>
    known.has(name) ? `${prefix}${name}` : name,
  );
}

/** Of the module: what stands in no braces. */
function declaredNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  let statement = '';
  for (const character of text) {
    if (depth === 0) statement += character;
    if (character === '{') depth++;
    if (character === '}') depth--;
    if (depth > 0 || (character !== ';' && character !== '}')) continue;
    const name = DECLARATION.exec(statement)?.[1];
    if (name !== undefined) names.push(name);
    statement = '';
  }
  return names;
}

function withoutComments(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, ' ');
}
