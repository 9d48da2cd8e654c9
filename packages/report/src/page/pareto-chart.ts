/** Error against bits per element, with the line of the schemes that no other beats in both. */
import * as Plot from '@observablehq/plot';
import { type Markup, visible } from '../markup.js';
import type { ReportView, SchemeView } from '../view/view.js';
import { decimalText, decimalTicks } from './axes.js';
import { placeLabels } from './labels.js';
import { bothWidths, DIGIT_PIXELS, PAGE_WIDTHS, svg } from './svg.js';

const HEIGHT = 400;
const RADIUS = 5;
const LINE_PIXELS = 15;

type Point = SchemeView & { readonly bits: number; readonly error: number };

const dotColor = ({ verdict: { level } }: SchemeView) => `var(--level-${level})`;

/** Null without a scheme that has both bits and an error. */
export function paretoChart(view: ReportView): Markup | null {
  const { schemes, paretoFront } = view;
  const shown = schemes.filter(
    (scheme): scheme is Point =>
      scheme.verdict.level !== 'baseline' &&
      scheme.bits !== null &&
      scheme.error !== null &&
      scheme.error > 0,
  );
  if (shown.length === 0) return null;
  const front = paretoFront.flatMap((id) => shown.filter((scheme) => scheme.id === id));
  return bothWidths(PAGE_WIDTHS, (width) => draw(view, width, shown, front));
}

function draw(
  { schemes, errorName, bitsName }: ReportView,
  width: number,
  shown: readonly Point[],
  front: readonly Point[],
): Markup {
  const errors = shown.map(({ error }) => error);
  const domain = [Math.min(...errors) / 1.5, Math.max(...errors) * 1.5] as const;
  // Those of the line get their numbers first.
  const ordered = [...front, ...shown.filter((scheme) => !front.includes(scheme))];
  const number = (scheme: SchemeView) => String(schemes.indexOf(scheme));
  return svg(`${errorName} against bits per element; the table below holds the same figures`, {
    width,
    height: HEIGHT,
    marginLeft: 58,
    marginRight: 12,
    marginTop: 28,
    marginBottom: 44,
    x: { label: `${bitsName} →`, labelAnchor: 'right', nice: true, inset: 14, ticks: width / 80 },
    y: {
      type: 'log',
      domain,
      label: `↑ ${errorName}`,
      grid: true,
      ticks: decimalTicks(...domain),
      tickFormat: decimalText,
    },
    color: { type: 'identity' },
    marks: [
      Plot.line(front, { x: 'bits', y: 'error', stroke: 'var(--accent)', strokeWidth: 2 }),
      Plot.dot(shown, {
        x: 'bits',
        y: 'error',
        r: RADIUS,
        fill: dotColor,
        stroke: 'var(--paper)',
        title: (scheme: Point) => `${number(scheme)} ${visible(scheme.id)}`,
      }),
      Plot.text(ordered, {
        x: 'bits',
        y: 'error',
        text: number,
        stroke: 'var(--paper)',
        strokeWidth: 3,
        fill: 'var(--ink)',
        render(index, scales, values, dimensions, context, next) {
          const { x = [], y = [] } = values as { x?: ArrayLike<number>; y?: ArrayLike<number> };
          const boxes = placeLabels(
            Array.from(index, (i) => ({
              x: x[i] as number,
              y: y[i] as number,
              width: DIGIT_PIXELS * number(ordered[i] as Point).length,
              height: LINE_PIXELS,
            })),
            {
              radius: RADIUS + 1,
              bounds: { left: dimensions.marginLeft, right: width, top: 14, bottom: HEIGHT - 44 },
            },
          );
          const free = Array.from(index).filter((_, place) => boxes[place] !== null);
          const moved = { x: Array.from(x), y: Array.from(y) };
          for (const [place, i] of index.entries()) {
            const box = boxes[place];
            if (box == null) continue;
            moved.x[i] = (box.left + box.right) / 2;
            moved.y[i] = (box.top + box.bottom) / 2;
          }
          return (
            next?.(free, scales, { ...values, ...moved } as typeof values, dimensions, context) ??
            null
          );
        },
      }),
    ],
  });
}
