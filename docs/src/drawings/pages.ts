/**
 * Pages: the blocks of all heads of one layer, one page after another along the tokens.
 */
import { type Scheme, WINDOW_PAGE_TOKENS, windowCounts } from '@lowbit-kv/core';
import { html, type Markup } from '../../../packages/report/src/markup.js';
import {
  boldWords,
  box,
  capital,
  counted,
  LINE,
  legendLine,
  type Picture,
  words,
} from './picture.js';
import { type DrawnTensor, drawnPlan, drawnTensors } from './plans.js';

const PAGES = 3;
const HEAD = 9;
const PAGE_WIDTH = 96;

export function drawPages(scheme: Scheme): Picture {
  const layers = [...new Set(drawnPlan(scheme).layers.map(({ layer }) => layer))];
  const tensors = drawnTensors(scheme);
  const panels = layers.flatMap((layer) => tensors.map((tensor) => ({ layer, tensor })));
  const height = (tensors[0].plan.heads * HEAD + 44) * panels.length;
  return {
    title: `Pages of ${scheme.id}`,
    description: tensors.map(sentence).join(' '),
    height: height + LINE + 6,
    shapes: [
      ...panels.map(({ layer, tensor }, i) => panel(layer, tensor, (height / panels.length) * i)),
      legendLine('codes', 'block of one head', height + 12),
      tensors.every(({ plan }) => plan.layout !== null)
        ? null
        : legendLine('f16', 'f16 of one head', height + 12, 170),
    ],
  };
}

function panel(layer: number, { name, plan, rule }: DrawnTensor, y: number): Markup {
  const kind = plan.layout === null ? 'f16' : 'codes';
  const tokens = plan.layout?.blockTokens ?? WINDOW_PAGE_TOKENS;
  const pages = Array.from({ length: PAGES }, (_, page) => {
    const x = page * (PAGE_WIDTH + 8);
    const heads = Array.from({ length: plan.heads }, (_, head) =>
      box(
        kind,
        { x, y: y + 20 + head * HEAD, width: PAGE_WIDTH, height: HEAD - 1 },
        `head of a page of ${name}`,
      ),
    );
    const first = windowCounts(rule, 1 << 20).sinks + page * tokens;
    return html`${heads}${words(`${first}–${first + tokens - 1}`, x, y + 34 + plan.heads * HEAD)}`;
  });
  return html`${boldWords(`Layer ${layer}, ${name}`, 0, y + 14)}${pages}`;
}

function sentence({ name, plan }: DrawnTensor): string {
  const { layout } = plan;
  if (layout === null)
    return `${capital(name)} stay in f16 pages of ${WINDOW_PAGE_TOKENS} tokens, ${counted(plan.windowPageBytes, 'byte')} each.`;
  return `A page of ${name} holds ${counted(layout.blockTokens, 'token')} of ${counted(layout.heads, 'head')} of one layer in ${counted(layout.pageBytes, 'byte')}.`;
}
