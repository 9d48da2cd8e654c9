/**
 * HTML that is escaped by construction: text becomes markup only through `html`, which escapes what it is given.
 */

/** Markup that needs no escaping. */
export class Markup {
  constructor(readonly text: string) {}
}

export type Content = Markup | string | number | null | readonly Content[];

/** A template of HTML. Texts and numbers in it are escaped; null is nothing, lists are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Markup {
  const rest = values.map((value, i) => `${markupOf(value)}${parts[i + 1]}`);
  return new Markup(`${parts[0]}${rest.join('')}`);
}

function markupOf(content: Content): string {
  if (content === null) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'string' || typeof content === 'number') return escaped(String(content));
  return content.map(markupOf).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Control and direction characters as escapes, lines kept: what a report shows is what it says. */
export function visible(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
  });
}
