/**
 * Anchors of headings, as GitHub makes them: links are written once and hold there and here.
 */
import MarkdownIt from 'markdown-it';

const markdown = new MarkdownIt({ html: true });

/** The anchor of a heading, without the number that repeated headings get. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Anchors of a document: of its headings, and `id` and `name` of elements written as HTML. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const tokens = markdown.parse(text, {});
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open')
      anchors.add(unused(slugOf(plainText(tokens[i + 1])), anchors));
    for (const part of [token, ...(token.children ?? [])]) {
      if (part.type !== 'html_block' && part.type !== 'html_inline') continue;
      for (const [, id = ''] of part.content.matchAll(/\s(?:id|name)="([^"]+)"/g)) anchors.add(id);
    }
  }
  return anchors;
}

function plainText(inline: ReturnType<MarkdownIt['parse']>[number] | undefined): string {
  return (inline?.children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');
}

function unused(slug: string, taken: ReadonlySet<string>): string {
  let result = slug;
  for (let i = 1; taken.has(result); i++) result = `${slug}-${i}`;
  return result;
}
