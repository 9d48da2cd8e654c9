/**
 * Which tokens are sinks, packed, or in the f16 tail: of one length, and as a sequence grows.
 */
import { type PageClass, type Scheme, windowCounts } from '@lowbit-kv/core';
import { nextPack } from '../../../apps/playground/src/run/window-states.js';
import { html, type Markup } from '../../../packages/report/src/markup.js';
import {
  boldWords,
  box,
  capital,
  counted,
  LINE,
  legendLine,
  type Picture,
  WIDTH,
  words,
} from './picture.js';
import { type DrawnTensor, drawnTensors } from './plans.js';

const LENGTH = 512;
const PARTS = ['sinks', 'packed', 'tail'] as const;
const MEANING = {
  sinks: 'in f16 for ever',
  packed: 'in packed blocks',
  tail: 'newest, still in f16',
} as const;

export function drawWindows(scheme: Scheme): Picture {
  const tensors = drawnTensors(scheme);
  const linesOf = ({ rule }: DrawnTensor) => {
    const counts = windowCounts(rule, LENGTH);
    return PARTS.filter((part) => counts[part] > 0).length;
  };
  const panel = 60 + LINE * Math.max(...tensors.map(linesOf)) + 10;
  return {
    title: `Windows of ${scheme.id}`,
    description: tensors
      .map(({ name, rule }) => `${capital(name)} of ${LENGTH} tokens: ${countsText(rule)}.`)
      .join(' '),
    height: 2 * panel,
    shapes: tensors.map((tensor, i) => windowPanel(tensor, i * panel)),
  };
}

function windowPanel({ name, rule }: DrawnTensor, y: number): Markup {
  const counts = windowCounts(rule, LENGTH);
  const lines = PARTS.filter((part) => counts[part] > 0).map((part, i) =>
    legendLine(part, `${counted(counts[part], 'token')} ${MEANING[part]}`, y + 66 + i * LINE),
  );
  return html`${boldWords(`${capital(name)}, ${LENGTH} tokens →`, 0, y + 14)}${bar(rule, LENGTH, { x: 0, y: y + 22, width: WIDTH, height: 24 })}${lines}`;
}

/** How many rows of the timeline. */
const ROWS = 10;

/** A row for each length; what was packed since the row before is said. */
export function drawPacking(scheme: Scheme): Picture {
  const tensors = drawnTensors(scheme);
  const step = timeStep(tensors.map(({ rule }) => rule));
  const lengths = Array.from({ length: ROWS }, (_, i) => (i + 1) * step);
  const longest = lengths.at(-1) as number;
  const half = 145;
  const rows = lengths.flatMap((length, i) => {
    const y = 26 + i * LINE;
    return [
      words(String(length), 40, y + 11, 'end'),
      ...tensors.map(({ rule }, t) =>
        bar(rule, length, {
          x: 46 + t * (half + 4),
          y,
          width: (half * length) / longest,
          height: 14,
        }),
      ),
    ];
  });
  const isDrawn = (part: (typeof PARTS)[number]) =>
    tensors.some(({ rule }) => lengths.some((length) => windowCounts(rule, length)[part] > 0));
  const legend = 26 + ROWS * LINE + 18;
  return {
    title: `When ${scheme.id} packs`,
    description: tensors.map(packingSentence).join(' '),
    height: legend + 8,
    shapes: [
      words('tokens', 40, 14, 'end'),
      ...tensors.map(({ name }, t) => boldWords(name, 46 + t * (half + 4), 14)),
      ...rows,
      ...PARTS.filter(isDrawn).map((part, i) =>
        legendLine(part, part === 'tail' ? 'f16 tail' : part, legend, 46 + i * 90),
      ),
    ],
  };
}

function timeStep(rules: readonly PageClass[]): number {
  const flush = Math.max(...rules.map((rule) => rule.flush));
  const window = Math.max(
    ...rules.map(
      ({ sinks, recent, statisticsTokens }) => sinks + Math.max(recent, statisticsTokens),
    ),
  );
  return Math.max(8, Math.ceil(Math.max(flush / 2, window / 4) / 8) * 8);
}

function packingSentence({ name, rule }: DrawnTensor): string {
  if (rule.flush === 0) return `${capital(name)} stay f16.`;
  const first = nextPack(rule, 0);
  const count = windowCounts(rule, first).packed;
  const then = nextPack(rule, first) - first;
  return `${capital(name)} are packed first at ${counted(first, 'token')} (${count} of them), then ${counted(rule.flush, 'token')} every ${then === 1 ? 'step' : `${then} steps`}.`;
}

function bar(
  rule: PageClass,
  length: number,
  at: { x: number; y: number; width: number; height: number },
): Markup[] {
  const counts = windowCounts(rule, length);
  let x = at.x;
  return PARTS.filter((part) => counts[part] > 0).map((part) => {
    const width = (at.width * counts[part]) / length;
    const shape = box(part, { ...at, x, width }, `${part} of ${length}: ${counts[part]}`);
    x += width;
    return shape;
  });
}

function countsText(rule: PageClass): string {
  const counts = windowCounts(rule, LENGTH);
  return PARTS.filter((part) => counts[part] > 0)
    .map(
      (part) =>
        `${counts[part]} ${part === 'packed' ? 'packed' : part === 'sinks' ? 'sinks in f16' : 'in the f16 tail'}`,
    )
    .join(', ');
}
