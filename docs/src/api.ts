/**
 * The reference of the API: typedoc reads the sources of every published package and writes one page for each entry point.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';
import { SiteFault } from './links.js';
import { REPOSITORY_URL, ROOT } from './repository.js';

export interface ApiPage {
  /** Address, such as `api/core`. */
  readonly path: string;
  /** What is imported, such as `@lowbit-kv/core/testing`. */
  readonly title: string;
  readonly text: string;
}

export interface EntryPoint {
  readonly name: string;
  /** From the root of the repository. */
  readonly source: string;
}

/** Of all published packages, in the order of their folders. */
export function entryPoints(): EntryPoint[] {
  return readdirSync(join(ROOT, 'packages')).flatMap((folder) => {
    const manifest = JSON.parse(
      readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'),
    ) as { readonly name: string; readonly exports: Readonly<Record<string, unknown>> };
    return Object.entries(manifest.exports).flatMap(([subpath, conditions]) => {
      const source = (conditions as Record<string, string>)['@lowbit-kv/source'];
      return source === undefined
        ? []
        : [
            {
              name: manifest.name + subpath.slice(1),
              source: `packages/${folder}/${source.slice(2)}`,
            },
          ];
    });
  });
}

/** Address of the page of an entry point. */
export function apiPath(name: string): string {
  return `api/${name.replace('@lowbit-kv/', '').replaceAll('/', '-')}`;
}

/** Reads all sources: takes tens of seconds. */
export async function apiPages(): Promise<ApiPage[]> {
  const entries = entryPoints();
  const folder = mkdtempSync(fileURLToPath(new URL('../node_modules/.api-', import.meta.url)));
  try {
    await writeReference(entries, folder);
    return entries.map(({ name }) => {
      const path = apiPath(name);
      const text = readFileSync(join(folder, `${path.slice('api/'.length)}.md`), 'utf8');
      return { path, title: name, text: withAnchors(text.replace(/^# .*$/m, `# ${name}`)) };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function writeReference(entries: readonly EntryPoint[], folder: string): Promise<void> {
  const application = await Application.bootstrapWithPlugins({
    plugin: [import.meta.resolve('typedoc-plugin-markdown')],
    entryPoints: entries.map(({ source }) => join(ROOT, source)),
    tsconfig: fileURLToPath(new URL('../typedoc.tsconfig.json', import.meta.url)),
    basePath: ROOT,
    // `pnpm typecheck` says what is wrong with types.
    skipErrorChecking: true,
    disableGit: true,
    sourceLinkTemplate: `${REPOSITORY_URL}/blob/main/packages/{path}#L{line}`,
    excludePrivate: true,
    excludeInternal: true,
    readme: 'none',
    logLevel: 'Error',
    outputs: [{ name: 'markdown', path: folder }],
    ...MARKDOWN_OPTIONS,
  });
  const project = await application.convert();
  for (const { name, source } of entries) {
    const module = project?.children?.find(({ sources }) => sources?.[0]?.fileName === source);
    if (module === undefined)
      throw new SiteFault(`typedoc found nothing in ${source}. Read what it says above.`);
    module.name = apiPath(name).slice('api/'.length);
  }
  if (project !== undefined) await application.generateOutputs(project);
  if (application.logger.hasErrors())
    throw new SiteFault('typedoc could not write the reference. Read what it says above.');
}

/** Of the plugin, which extends the options of typedoc at run time. */
const MARKDOWN_OPTIONS = {
  router: 'module',
  useHTMLAnchors: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  propertiesFormat: 'table',
  sanitizeComments: true,
};

/**
 * Headings with the anchors that links of the reference name; the others have a number, because names such as Parameters
 * come often and would take anchors away.
 */
export function withAnchors(text: string): string {
  let sections = 0;
  return text
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) =>
      part.startsWith('```')
        ? part
        : part.replace(
            /(?:<a id="([^"]+)"><\/a>\s+)?^(#{1,6} .+)$/gm,
            (_, anchor: string | undefined, heading: string) =>
              `${heading} {#${anchor ?? `section-${++sections}`}}`,
          ),
    )
    .join('');
}
