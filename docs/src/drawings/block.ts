/**
 * The bytes of one block: every plane with its offset and size, from the plan.
 */
import { type BlockLayout, type PageField, pageFields, type Scheme } from '@lowbit-kv/core';
import { html, type Markup } from '../../../packages/report/src/markup.js';
import { boldWords, box, counted, LINE, type Picture, spaced, WIDTH, words } from './picture.js';
import { drawnTensors } from './plans.js';

interface Region {
  readonly name: string;
  /** From the start of the head block, or of the shared plane. */
  readonly offset: number;
  readonly bytes: number;
  readonly content: string;
}

/** Null when the tensor stays f16. */
export function drawBlock(scheme: Scheme, tensor: 'keys' | 'values'): Picture | null {
  const { plan } = drawnTensors(scheme)[tensor === 'keys' ? 0 : 1];
  const { layout } = plan;
  if (layout === null) return null;
  const head = regionsOf(layout, 0);
  const shared = layout.parametersShared ? regionsOf(layout, null) : [];
  const first = part(`One head, ${layout.blockTokens} tokens: ${layout.headBytes} bytes`, head, 0);
  const second =
    shared.length === 0
      ? null
      : part(`All heads: ${layout.sharedBytes} bytes`, shared, first.height + 10);
  const planes = [...head, ...shared].map(
    ({ name, offset, bytes, content }) =>
      `${name}: ${counted(bytes, 'byte')} at ${offset}${content === '' ? '' : `, ${content}`}`,
  );
  const page = `A page holds ${counted(layout.heads, 'head')} of one layer: ${counted(layout.pageBytes, 'byte')}.`;
  const title = `A block of ${tensor} of ${scheme.id}`;
  return {
    title,
    description: `${planes.join('; ')}. ${page}`,
    caption: `${title} at head dim ${layout.headDim}. ${page}`,
    height: first.height + (second === null ? 0 : second.height + 10),
    shapes: [first.shapes, second?.shapes ?? null],
  };
}

/** Fields in their order with the padding between and behind them: they add up to the block. */
export function regionsOf(layout: BlockLayout, head: number | null): Region[] {
  const start = (head ?? layout.heads) * layout.headBytes;
  const end = head === null ? layout.sharedBytes : layout.headBytes;
  const regions: Region[] = [];
  let at = 0;
  const pad = (to: number) => {
    if (to > at) regions.push({ name: 'padding', offset: at, bytes: to - at, content: '' });
    at = to;
  };
  for (const field of pageFields(layout).filter((candidate) => candidate.head === head)) {
    pad(field.offset - start);
    regions.push({ ...field, name: spaced(field.name), offset: at });
    at += field.bytes;
  }
  pad(end);
  return regions;
}

function part(
  title: string,
  regions: readonly Region[],
  y: number,
): { readonly shapes: Markup; readonly height: number } {
  const bytes = regions.reduce((sum, region) => sum + region.bytes, 0);
  const bar = regions.map((region) =>
    box(
      kindOf(region.name),
      {
        x: (WIDTH * region.offset) / bytes,
        y: y + 22,
        width: Math.max((WIDTH * region.bytes) / bytes, 0.5),
        height: 26,
      },
      `${region.name}: ${region.bytes}`,
    ),
  );
  const top = y + 70;
  const head = html`${words('offset', 190, top, 'end')}${words('bytes', 250, top, 'end')}`;
  const rows = regions.map(({ name, offset, bytes: size, content }, i) => {
    const line = top + (i + 1) * LINE;
    const short = content
      .replace(/ \(rows of .*\)/, '')
      .replace(' at most', '')
      .replace(' bytes', ' B');
    return html`${box(kindOf(name), { x: 0, y: line - 10, width: 12, height: 12 }, 'legend')}${words(name, 18, line)}${words(String(offset), 190, line, 'end')}${words(String(size), 250, line, 'end')}${words(short, WIDTH, line, 'end')}`;
  });
  return {
    shapes: html`${boldWords(title, 0, y + 14)}${bar}${head}${rows}`,
    height: 80 + regions.length * LINE,
  };
}

/** Colours are those of the parts in the accounts of a cache. */
function kindOf(name: PageField['name'] | string): string {
  if (name === 'codes') return 'codes';
  if (name === 'padding') return 'unused';
  return name === 'end offsets' || name.startsWith('outlier') ? 'outliers' : 'parameters';
}
