/**
 * Plots as SVG. Colours and fonts are those of the page's style sheet, so that charts follow its theme and print.
 */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { html, Markup } from '../markup.js';

/** Pixels. A chart is shown as large as it is drawn, so that its text is as large as on the page. */
export const PAGE_WIDTHS = { wide: 720, narrow: 334 } as const;
/** Of charts in the card of a scheme. */
export const CARD_WIDTHS = { wide: 520, narrow: PAGE_WIDTHS.narrow } as const;

/** Of a digit at the size of charts. */
export const DIGIT_PIXELS = 8;

/** Attributes that hold positions: a tenth of a pixel is enough. Texts are left as they are. */
const COORDINATES = / (?:d|x|y|x1|x2|y1|y2|cx|cy|width|height|transform)="[^"]*"/g;
/** Of the root; the style sheet says the same for all charts. */
const STYLED = ['style', 'font-size', 'font-family', 'text-anchor', 'fill'];

function roundedNumbers(attribute: string): string {
  return attribute.replace(/\d+\.\d{2,}/g, (digits) => String(+(+digits).toFixed(1)));
}

/** The SVG of a plot, named for readers that do not see it. */
export function svg(
  label: string,
  options: Plot.PlotOptions & { readonly width: number; readonly height: number },
): Markup {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const plot = Plot.plot({
    className: 'plot',
    ...options,
    document: document as unknown as NonNullable<Plot.PlotOptions['document']>,
  });
  plot.setAttribute('role', 'img');
  for (const attribute of STYLED) plot.removeAttribute(attribute);
  for (const style of plot.querySelectorAll('style')) style.remove();
  // Names of marks are not allowed on elements without a role; the whole chart has a label.
  for (const mark of plot.querySelectorAll('[aria-label]')) mark.removeAttribute('aria-label');
  const drawn = plot.outerHTML
    .replace(COORDINATES, roundedNumbers)
    .replaceAll(/><\/(?:rect|path|line)>/g, '/>');
  // The label is put in here: attributes are escaped by `html`, not by the library that draws.
  return html`<svg aria-label="${label}"${new Markup(drawn.slice('<svg'.length))}`;
}

/** A chart drawn twice: for screens, and for phones, where the style sheet shows the other one. */
export function bothWidths(
  { wide, narrow }: { readonly wide: number; readonly narrow: number },
  draw: (width: number) => Markup,
): Markup {
  return html`<div class="wide">${draw(wide)}</div><div class="narrow">${draw(narrow)}</div>`;
}
