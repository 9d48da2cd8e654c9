/** Memory against context length, with the sizes of cards. */
import * as Plot from '@observablehq/plot';
import type { Markup } from '../markup.js';
import { tokensText, wholeBytesText } from '../view/figures.js';
import { powersOfFour } from './axes.js';
import { endLabels } from './end-labels.js';
import { type MemoryLine, memoryAt } from './memory-lines.js';
import { bothWidths, PAGE_WIDTHS, svg } from './svg.js';

const HEIGHT = 400;
const MARGIN = { top: 26, bottom: 44, left: 66 } as const;

/** A line and what it is called. */
export interface DrawnLine extends MemoryLine {
  readonly number: number;
}

/** `lengths` in tokens, rising; the first line is f16. `cards` in bytes. */
export function memoryChart(
  lines: readonly DrawnLine[],
  lengths: readonly number[],
  cards: readonly { readonly name: string; readonly bytes: number }[],
): Markup {
  const points = lines.flatMap((line) =>
    lengths.map((tokens) => ({ id: line.id, tokens, bytes: memoryAt(line, tokens) })),
  );
  const bytes = points.map((point) => point.bytes);
  const low = Math.min(...bytes);
  const high = Math.max(...bytes) * 1.3;
  const shown = cards.filter((card) => card.bytes > low && card.bytes < high);
  const last = lengths.at(-1) as number;
  const pixels = (HEIGHT - MARGIN.top - MARGIN.bottom) / Math.log(high / low);
  return bothWidths(PAGE_WIDTHS, (width) => {
    const { marks, marginRight } = endLabels(
      width,
      lines.map((line) => ({
        ...line,
        at: HEIGHT - MARGIN.bottom - pixels * Math.log(memoryAt(line, last) / low),
      })),
      MARGIN.top,
    );
    return svg('Memory of the cache against context length, with the sizes of cards', {
      width,
      height: HEIGHT,
      marginLeft: MARGIN.left,
      marginRight,
      marginTop: MARGIN.top,
      marginBottom: MARGIN.bottom,
      x: {
        type: 'log',
        base: 2,
        label: 'context, tokens →',
        labelAnchor: 'center',
        ticks: lengths.filter((_, i) => i % 2 === 0) as number[],
        tickFormat: tokensText,
      },
      y: {
        type: 'log',
        base: 2,
        domain: [low, high],
        label: '↑ memory',
        ticks: powersOfFour(low, high),
        tickFormat: (value: number) => wholeBytesText(value),
      },
      color: { type: 'identity' },
      marks: [
        Plot.ruleY(shown, { y: 'bytes', stroke: 'var(--rule)', strokeDasharray: '4 3' }),
        // Neighbours would cover each other: every other name stands further right.
        shown.map((card, i) =>
          Plot.text([card], {
            y: 'bytes',
            text: 'name',
            frameAnchor: 'left',
            textAnchor: 'start',
            dx: 4 + 60 * (i % 2),
            dy: -8,
            fill: 'var(--soft)',
          }),
        ),
        Plot.line(points, {
          x: 'tokens',
          y: 'bytes',
          z: 'id',
          stroke: ({ id }) => (id === lines[0]?.id ? 'var(--ink)' : 'var(--accent)'),
          strokeWidth: 2,
        }),
        marks,
      ],
    });
  });
}
