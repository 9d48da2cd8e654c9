/**
 * Links between files of the repository: to the page that shows the file, else to the file in the repository. A link to a
 * file or an anchor that is not there is a fault.
 */
import { posix } from 'node:path';
import { anchorsOf } from './headings.js';
import type { MarkdownRules } from './markdown-rules.js';
import type { SitePage } from './page-table.js';
import { isInRepository, REPOSITORY_URL, readSource } from './repository.js';

export class SiteFault extends Error {
  override readonly name = 'SiteFault';
}

export interface LinkContext {
  readonly pages: readonly SitePage[];
  /** Pages without a source file, by path: the reference of the API. */
  readonly generated?: readonly string[];
}

/** Where a link of `source` leads on the site. Throws SiteFault for what is not there. */
export function siteLink(href: string, source: string, context: LinkContext): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith('//')) return href;
  const [, path = '', anchor = ''] = /^([^#]*)(?:#(.*))?$/.exec(href) ?? [];
  if (path.startsWith('/')) return generatedLink(path, anchor, source, context);
  const target = path === '' ? source : posix.normalize(posix.join(posix.dirname(source), path));
  const file = target.replace(/\/$/, '') || '.';
  if (file.startsWith('..') || !isInRepository(file))
    throw new SiteFault(
      `${source} links to ${JSON.stringify(href)}, and there is no ${file}. Correct the link, or add the file.`,
    );
  const page = context.pages.find(
    (known) => known.source === file || known.source === posix.join(file, 'README.md'),
  );
  if (page === undefined)
    return `${REPOSITORY_URL}/blob/main/${file}${anchor === '' ? '' : `#${anchor}`}`;
  if (anchor !== '') checkAnchor(decodeURIComponent(anchor), page.source, { href, source });
  if (path === '') return href;
  return pageAddress(page.path) + (anchor === '' ? '' : `#${anchor}`);
}

/** Address from the root of the site. */
export function pageAddress(path: string): string {
  return path === 'index' ? '/' : `/${path}`;
}

function generatedLink(
  path: string,
  anchor: string,
  source: string,
  { generated = [], pages }: LinkContext,
): string {
  const known = [...generated, ...pages.map((page) => page.path)];
  if (path !== '/playground/' && !known.some((name) => pageAddress(name) === path))
    throw new SiteFault(
      `${source} links to ${JSON.stringify(path)}, which is no page of the site. Link to a file of the repository by its relative path.`,
    );
  return anchor === '' ? path : `${path}#${anchor}`;
}

/** By text of a document: each is read once. */
const anchorsByText = new Map<string, ReadonlySet<string>>();

function checkAnchor(
  anchor: string,
  file: string,
  { href, source }: { readonly href: string; readonly source: string },
): void {
  const text = readSource(file);
  let anchors = anchorsByText.get(text);
  if (anchors === undefined) {
    anchors = anchorsOf(text);
    anchorsByText.set(text, anchors);
  }
  if (anchors.has(anchor)) return;
  throw new SiteFault(
    `${source} links to ${JSON.stringify(href)}, and ${file} has no heading #${anchor}. Its headings: ${[...anchors].join(', ')}.`,
  );
}

/** Rewrites the links of a document; `env.source` is its file. Links without a source are left alone. */
export function siteLinks(markdown: MarkdownRules, context: LinkContext): void {
  markdown.core.ruler.push('site-links', ({ tokens, env }) => {
    const { source } = env as { readonly source?: string };
    if (source === undefined) return;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const attribute = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : null;
      const href = attribute === null ? null : token.attrGet(attribute);
      if (attribute !== null && href !== null)
        token.attrSet(attribute, siteLink(href, source, context));
    }
  });
}
