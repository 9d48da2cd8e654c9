/** Names at the ends of lines: on wide charts number and id, on narrow ones the number of the verdicts. */
import * as Plot from '@observablehq/plot';
import { visible } from '../markup.js';
import { spreadLabels } from './labels.js';
import { PAGE_WIDTHS } from './svg.js';

const LINE_PIXELS = 16;
const LONGEST = 28;
const MARGINS = { wide: 240, narrow: 40 } as const;

interface LineEnd {
  readonly id: string;
  readonly number: number;
  /** Pixels from the top of the chart. */
  readonly at: number;
}

/** Marks, and the right margin that they need. f16 is its name. */
export function endLabels(width: number, ends: readonly LineEnd[], marginTop: number) {
  const wide = width > PAGE_WIDTHS.narrow;
  const textOf = ({ id, number }: LineEnd) => {
    if (id === 'f16') return id;
    const name = visible(id);
    const cut = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    return wide ? `${number} ${cut}` : String(number);
  };
  const labels = spreadLabels(
    ends.map((end) => ({ text: textOf(end), at: end.at })),
    LINE_PIXELS,
  );
  return {
    marginRight: wide ? MARGINS.wide : MARGINS.narrow,
    marks: labels.map(({ text, at }) =>
      Plot.text([text], {
        frameAnchor: 'top-right',
        textAnchor: 'start',
        dx: 8,
        dy: at - marginTop,
        lineAnchor: 'middle',
        fill: 'var(--ink)',
      }),
    ),
  };
}
