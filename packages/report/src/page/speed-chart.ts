/** Times of decode steps against context. */
import * as Plot from '@observablehq/plot';
import type { Markup } from '../markup.js';
import { tokensText } from '../view/figures.js';
import type { SpeedGroup } from '../view/speed-view.js';
import { decimalText, decimalTicks, thinned } from './axes.js';
import { endLabels } from './end-labels.js';
import { bothWidths, PAGE_WIDTHS, svg } from './svg.js';

const HEIGHT = 320;
const MARGIN = { top: 26, bottom: 44, left: 58 } as const;
/** More lines cannot be told apart; the table has all. */
const DRAWN = 9;

/** Null where there is one context: the table says it all. */
export function speedChart(
  { backend, shape, contexts, lines }: SpeedGroup,
  numberOf: (id: string) => number,
): Markup | null {
  if (contexts.length < 2) return null;
  const drawn = lines.filter(({ points }) => points.some(({ step }) => step > 0)).slice(0, DRAWN);
  const points = drawn.flatMap(({ id, points: own }) =>
    own.filter(({ step }) => step > 0).map((point) => ({ id, ...point })),
  );
  if (points.length === 0) return null;
  const steps = points.map(({ step }) => step);
  const domain = [Math.min(...steps) / 1.3, Math.max(...steps) * 1.3] as const;
  const pixels = (HEIGHT - MARGIN.top - MARGIN.bottom) / Math.log(domain[1] / domain[0]);
  return bothWidths(PAGE_WIDTHS, (width) => {
    const { marks, marginRight } = endLabels(
      width,
      drawn.map(({ id, points: own }) => ({
        id,
        number: numberOf(id),
        at: HEIGHT - MARGIN.bottom - pixels * Math.log((own.at(-1)?.step ?? 1) / domain[0]),
      })),
      MARGIN.top,
    );
    return svg(`Time of a decode step against context on ${backend}: ${shape}`, {
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
        ticks: thinned(contexts, width / 80),
        tickFormat: tokensText,
      },
      y: {
        type: 'log',
        domain,
        label: '↑ us of a layer and token',
        grid: true,
        ticks: decimalTicks(...domain),
        tickFormat: decimalText,
      },
      marks: [
        Plot.line(points, {
          x: 'context',
          y: 'step',
          z: 'id',
          stroke: ({ id }: { id: string }) => (id === 'f16' ? 'var(--ink)' : 'var(--accent)'),
          strokeWidth: 2,
          marker: 'dot',
        }),
        marks,
      ],
      color: { type: 'identity' },
    });
  });
}
