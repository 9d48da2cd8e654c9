/** Divergence over position. */
import * as Plot from '@observablehq/plot';
import type { Markup } from '../markup.js';
import type { CurvePoint } from '../view/view.js';
import { bothWidths, CARD_WIDTHS, svg } from './svg.js';

/** `top` keeps the scale of all schemes. */
export function curveChart(curve: readonly CurvePoint[], scheme: string, top: number): Markup {
  const points = curve.flatMap(({ from, to, divergence }) =>
    divergence === null ? [] : [{ position: (from + to - 1) / 2, divergence }],
  );
  return bothWidths(CARD_WIDTHS, (width) =>
    svg(`${scheme}: mean KL divergence from f16 by position`, {
      width,
      height: 170,
      marginLeft: 58,
      marginRight: 16,
      marginTop: 26,
      marginBottom: 40,
      x: { label: 'position →', labelAnchor: 'right', ticks: width / 80 },
      y: { label: '↑ KL, nats', grid: true, domain: [0, top], ticks: 4 },
      marks: [
        Plot.areaY(points, {
          x: 'position',
          y: 'divergence',
          fill: 'var(--accent)',
          fillOpacity: 0.18,
        }),
        Plot.lineY(points, {
          x: 'position',
          y: 'divergence',
          stroke: 'var(--accent)',
          strokeWidth: 2,
        }),
      ],
    }),
  );
}
