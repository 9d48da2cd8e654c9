/** Errors by layer, a row for each head or tensor, in the colours of the limits. */
import type * as Plot from '@observablehq/plot';
import { html, type Markup } from '../markup.js';
import type { HeatMapView, ReportView } from '../view/view.js';
import { thinned } from './axes.js';
import { heatColor } from './heat-colors.js';
import { bothWidths, CARD_WIDTHS, svg } from './svg.js';

const MARGIN = { left: 62, right: 8, top: 2, bottom: 24 } as const;
const LARGEST_CELL = 24;
/** Rows are lower where there are more than a few of them. */
const ROW_PIXELS = { few: 18, many: 11 } as const;
const FEW_ROWS = 20;
const LABEL_PIXELS = { across: 22, down: 16 } as const;
/** Of the axis. */
const LEAST_ACROSS = 60;
/** Shares of a cell that its colour fills. */
const FILLED = 0.9;

/** Drawn once where it is narrow enough for every screen. */
export function heatMapChart(
  view: HeatMapView,
  scheme: string,
  limits: ReportView['limits'],
): Markup {
  const cell = (width: number) =>
    Math.floor((10 * (width - MARGIN.left - MARGIN.right)) / view.layers.length) / 10;
  if (cell(CARD_WIDTHS.narrow) >= LARGEST_CELL)
    return html`<div>${draw(view, scheme, limits, LARGEST_CELL)}</div>`;
  return bothWidths(CARD_WIDTHS, (width) =>
    draw(view, scheme, limits, Math.min(LARGEST_CELL, cell(width))),
  );
}

function draw(
  { layers, groups }: HeatMapView,
  scheme: string,
  limits: ReportView['limits'],
  side: number,
): Markup {
  // An empty row between groups.
  const rows = groups.flatMap(({ rows: own }, i) => [
    ...(i === 0 ? [] : [{ label: ' '.repeat(i), values: [] }]),
    ...own,
  ]);
  const height = rows.length <= FEW_ROWS ? ROW_PIXELS.few : ROW_PIXELS.many;
  const labelled = groups.flatMap(({ rows: own }) =>
    height >= LABEL_PIXELS.down
      ? own
      : thinned(own, Math.floor((own.length * height) / LABEL_PIXELS.down)),
  );
  const across = side * layers.length;
  return svg(`${scheme}: NMSE by layer and head`, {
    width: Math.round(MARGIN.left + MARGIN.right + Math.max(across, LEAST_ACROSS)),
    height: MARGIN.top + MARGIN.bottom + rows.length * height,
    marginLeft: MARGIN.left,
    marginRight: MARGIN.right + Math.max(0, LEAST_ACROSS - across),
    marginTop: MARGIN.top,
    marginBottom: MARGIN.bottom,
    x: {
      type: 'band',
      label: 'layer →',
      labelAnchor: 'left',
      labelOffset: 20,
      domain: layers.map(String),
      ticks: thinned(layers, Math.floor(across / LABEL_PIXELS.across)).map(String),
      tickSize: 0,
      padding: 0,
      round: false,
    },
    y: {
      type: 'band',
      label: null,
      domain: rows.map(({ label }) => label),
      ticks: labelled.map(({ label }) => label),
      tickSize: 0,
      padding: 0,
      round: false,
    },
    marks: [cellMark(rows, limits, { side, height })],
  });
}

/**
 * Strokes in units of cells, a path for each colour: a tenth of the bytes of a rectangle for each cell.
 */
function cellMark(
  rows: readonly { readonly values: readonly (number | null)[] }[],
  limits: ReportView['limits'],
  { side, height }: { readonly side: number; readonly height: number },
): Plot.RenderFunction {
  const paths = new Map<string, string>();
  for (const [y, { values }] of rows.entries())
    for (const [x, value] of values.entries()) {
      const color = heatColor(value, limits);
      paths.set(color, `${paths.get(color) ?? ''}M${x} ${y}h${FILLED}`);
    }
  return (_index, _scales, _values, { marginLeft, marginTop }, { document }) => {
    const element = (name: string, attributes: Readonly<Record<string, string>>) => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    };
    const group = element('g', {
      transform: `translate(${marginLeft},${marginTop + height / 2})scale(${side},${height})`,
      'stroke-width': String(FILLED),
    });
    for (const [stroke, d] of paths) group.append(element('path', { stroke, d }));
    return group as ReturnType<Plot.RenderFunction>;
  };
}
