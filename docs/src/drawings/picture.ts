/**
 * SVG pictures of one width that phones show as drawn: colours and fonts come from the style sheet of the page.
 */
import { type Content, html, type Markup } from '../../../packages/report/src/markup.js';

/** Of every picture, in its own units; text is 12 units high. */
export const WIDTH = 340;
export const LINE = 18;

export interface Picture {
  readonly title: string;
  /** What there is to see, for those who do not see it. */
  readonly description: string;
  /** Below the picture. Default: the description. */
  readonly caption?: string;
  readonly height: number;
  readonly shapes: Content;
}

/** A figure in one line: a document goes on after it as if nothing had been there. */
export function figure({
  title,
  description,
  caption = description,
  height,
  shapes,
}: Picture): string {
  return html`<figure class="drawing" v-pre><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}"><title>${title}</title><desc>${description}</desc>${shapes}</svg><figcaption>${caption}</figcaption></figure>`
    .text;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A rectangle of a colour of the style sheet; `what` tells tests and style sheets what it shows. */
export function box(kind: string, { x, y, width, height }: Box, what = ''): Markup {
  return html`<rect class="fill-${kind}" data-what="${what}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"/>`;
}

export type Anchor = 'start' | 'middle' | 'end';

export function words(text: string, x: number, y: number, anchor: Anchor = 'start'): Markup {
  return html`<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${text}</text>`;
}

export function boldWords(text: string, x: number, y: number): Markup {
  return html`<text class="strong" x="${round(x)}" y="${round(y)}">${text}</text>`;
}

/** A swatch and its meaning. */
export function legendLine(kind: string, text: string, y: number, x = 0): Markup {
  return html`${box(kind, { x, y: y - 10, width: 12, height: 12 }, 'legend')}${words(text, x + 18, y)}`;
}

/** `1 token`, `2 tokens`. */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`;
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** `endOffsets` as words. */
export function spaced(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
