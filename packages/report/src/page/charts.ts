/**
 * Charts as SVG. Colours are variables of the page's style sheet, so that they follow its theme and print.
 */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { html, Markup, visible } from '../markup.js';
import { bytesText, tokensText } from '../view/figures.js';
import type { CurvePoint, HeatMapView, ReportView, SchemeView } from '../view/view.js';
import { heatColor } from './heat-colors.js';
import { spreadLabels } from './labels.js';
import { type MemoryLine, memoryAt } from './memory-lines.js';

const WIDTH = 560;
const STYLE = { fontSize: '13px', fontFamily: 'inherit', background: 'none' };

/** Attributes that hold positions: a tenth of a pixel is enough. Texts are left as they are. */
const COORDINATES = / (?:d|x|y|x1|x2|y1|y2|cx|cy|width|height|transform)="[^"]*"/g;

function roundedNumbers(attribute: string): string {
  return attribute.replace(/\d+\.\d{2,}/g, (digits) => String(+(+digits).toFixed(1)));
}

/** The SVG of a plot, named for readers that do not see it. */
function svg(label: string, options: Plot.PlotOptions): Markup {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const plot = Plot.plot({
    width: WIDTH,
    style: STYLE,
    className: 'plot',
    ...options,
    document: document as unknown as NonNullable<Plot.PlotOptions['document']>,
  });
  plot.setAttribute('role', 'img');
  for (const style of plot.querySelectorAll('style')) style.remove();
  // Names of marks are not allowed on elements without a role; the whole chart has a label.
  for (const mark of plot.querySelectorAll('[aria-label]')) mark.removeAttribute('aria-label');
  const drawn = plot.outerHTML.replace(COORDINATES, roundedNumbers).replaceAll('></rect>', '/>');
  // The label is put in here: attributes are escaped by `html`, not by the library that draws.
  return html`<svg aria-label="${label}"${new Markup(drawn.slice('<svg'.length))}`;
}

const dotColor = ({ verdict: { level } }: SchemeView) => `var(--level-${level})`;

/** Null without a scheme that has both bits and an error. */
export function paretoChart({ schemes, paretoFront, errorName, bitsName }: ReportView) {
  const shown = schemes.filter(
    ({ verdict, bits, error }) =>
      verdict.level !== 'baseline' && bits !== null && error !== null && error > 0,
  ) as (SchemeView & { readonly bits: number; readonly error: number })[];
  if (shown.length === 0) return null;
  const front = paretoFront.flatMap((id) => shown.filter((scheme) => scheme.id === id));
  const number = (scheme: SchemeView) => String(schemes.indexOf(scheme));
  return svg(`${errorName} against bits per element; the table below holds the same figures`, {
    height: 380,
    marginLeft: 64,
    marginRight: 24,
    marginBottom: 44,
    x: { label: `${bitsName} →`, nice: true, inset: 14, ticks: 6 },
    y: { type: 'log', label: `↑ ${errorName}`, grid: true, inset: 14, tickFormat: powerOfTen },
    color: { type: 'identity' },
    marks: [
      Plot.line(front, { x: 'bits', y: 'error', stroke: 'var(--accent)', strokeWidth: 2 }),
      Plot.dot(shown, {
        x: 'bits',
        y: 'error',
        r: 5,
        fill: dotColor,
        stroke: 'var(--paper)',
        title: ({ id }: SchemeView) => visible(id),
      }),
      Plot.text(shown, {
        x: 'bits',
        y: 'error',
        text: number,
        dx: 8,
        dy: -8,
        textAnchor: 'start',
        stroke: 'var(--paper)',
        strokeWidth: 4,
        fill: 'var(--ink)',
      }),
    ],
  });
}

function powerOfTen(value: number): string {
  const exponent = Math.log10(value);
  if (Math.abs(exponent - Math.round(exponent)) > 1e-9) return '';
  return exponent > -4 ? String(+value.toPrecision(1)) : `1e${Math.round(exponent)}`;
}

export function heatMapChart(view: HeatMapView, scheme: string, limits: ReportView['limits']) {
  const cells = view.values.flatMap((values, y) =>
    values.map((value, x) => ({ layer: String(view.layers[x]), row: view.rows[y], value })),
  );
  const side = Math.min(36, (WIDTH - 90) / view.layers.length);
  const every = Math.ceil(22 / side);
  return svg(`${scheme}: ${view.title}; worst: ${view.worst}`, {
    width: Math.round(90 + Math.max(side * view.layers.length, 150)),
    height: 44 + view.rows.length * 20,
    marginLeft: 64,
    marginRight: 26,
    marginTop: 2,
    marginBottom: 42,
    x: {
      label: 'layer →',
      labelOffset: 36,
      domain: view.layers.map(String),
      ticks: view.layers.filter((_, i) => i % every === 0).map(String),
      tickSize: 0,
      padding: 0.06,
    },
    y: { label: null, domain: view.rows as string[], tickSize: 0, padding: 0.06 },
    color: { type: 'identity' },
    marks: [
      Plot.cell(cells, { x: 'layer', y: 'row', fill: ({ value }) => heatColor(value, limits) }),
    ],
  });
}

/** Divergence over position; `top` keeps the scale of all schemes. */
export function curveChart(curve: readonly CurvePoint[], scheme: string, top: number) {
  const points = curve.flatMap(({ from, to, divergence }) =>
    divergence === null ? [] : [{ position: (from + to - 1) / 2, divergence }],
  );
  return svg(`${scheme}: mean KL divergence from f16 by position`, {
    height: 190,
    marginLeft: 64,
    marginRight: 24,
    marginBottom: 40,
    x: { label: 'position →' },
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
  });
}

/** `cards` in bytes, with the names that stand beside their lines. */
export function memoryChart(
  lines: readonly MemoryLine[],
  lengths: readonly number[],
  cards: readonly { readonly name: string; readonly bytes: number }[],
) {
  const points = lines.flatMap((line) =>
    lengths.map((tokens) => ({ id: line.id, tokens, bytes: memoryAt(line, tokens) })),
  );
  const last = lengths.at(-1) as number;
  const bytes = points.map((point) => point.bytes);
  const low = Math.min(...bytes);
  const high = Math.max(...bytes, ...cards.map((card) => card.bytes)) * 1.15;
  const height = 420;
  const [marginTop, marginBottom] = [24, 44];
  const pixels = (height - marginTop - marginBottom) / Math.log(high / low);
  const labels = spreadLabels(
    lines.map((line) => ({
      text: visible(line.id),
      at: height - marginBottom - pixels * Math.log(memoryAt(line, last) / low),
    })),
    15,
  );
  return svg('Memory of the cache against context length, with the sizes of cards', {
    height,
    marginLeft: 70,
    marginRight: 160,
    marginTop,
    marginBottom,
    x: {
      type: 'log',
      base: 2,
      label: 'context, tokens →',
      ticks: lengths.filter((_, i) => i % 2 === 0) as number[],
      tickFormat: tokensText,
    },
    y: {
      type: 'log',
      base: 2,
      domain: [low, high],
      label: '↑ memory',
      ticks: powersOfFour(low, high),
      tickFormat: (value: number) => bytesText(value),
    },
    color: { type: 'identity' },
    marks: [
      Plot.ruleY(cards, { y: 'bytes', stroke: 'var(--rule)', strokeDasharray: '4 3' }),
      // Neighbours would cover each other: every other name stands further right.
      cards.map((card, i) =>
        Plot.text([card], {
          y: 'bytes',
          text: 'name',
          frameAnchor: 'left',
          textAnchor: 'start',
          dx: 4 + 64 * (i % 2),
          dy: -7,
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
      labels.map(({ text, at }) =>
        Plot.text([text], {
          frameAnchor: 'top-right',
          textAnchor: 'start',
          dx: 8,
          dy: at - marginTop,
          lineAnchor: 'middle',
          fill: 'var(--ink)',
        }),
      ),
    ],
  });
}

function powersOfFour(low: number, high: number): number[] {
  const first = Math.ceil(Math.log2(low) / 2);
  const last = Math.floor(Math.log2(high) / 2);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 4 ** (first + i));
}
