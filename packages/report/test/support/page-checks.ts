/** What a person would see at once on a page that is broken, asked of the real one. */
import type { openChromium } from '../../../backend-webgpu/test/support/chromium.js';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof openChromium>>['newPage']>>;

export interface PageFaults {
  /** Pixels by which the page is wider than the screen. */
  readonly tooWide: number;
  /** Of all text, as it is shown, pixels. */
  readonly smallestText: number;
  /** Texts of one chart that cover each other. */
  readonly overlaps: readonly string[];
  /** Texts of charts beyond the edge of the screen. */
  readonly clipped: readonly string[];
  /** Charts that are drawn smaller than they are, or that show nothing. */
  readonly charts: readonly string[];
}

/** Neighbouring letters may touch. */
const TOUCHING_PIXELS = 2;

/** Runs in the page: no names from outside. */
const FIND = `(() => {
  const touching = ${TOUCHING_PIXELS};
  const isShown = (element) => element.getClientRects().length > 0;
  const faults = { tooWide: document.documentElement.scrollWidth - innerWidth, smallestText: Infinity, overlaps: [], clipped: [], charts: [] };
  const sized = (element, scale) => {
    const size = parseFloat(getComputedStyle(element).fontSize) * scale;
    faults.smallestText = Math.min(faults.smallestText, size);
  };
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (own && isShown(element) && !element.closest('svg, script, style')) sized(element, 1);
  }
  for (const svg of document.querySelectorAll('svg')) {
    if (!isShown(svg)) continue;
    const name = svg.getAttribute('aria-label');
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    if (scale < 0.95 || svg.querySelector('path, circle, line') === null) faults.charts.push(name + ' at ' + scale);
    const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim() !== '' && isShown(text));
    const boxes = texts.map((text) => ({ text: text.textContent, ...text.getBoundingClientRect().toJSON() }));
    for (const text of texts) sized(text, scale);
    for (const [i, a] of boxes.entries()) {
      if (a.left < 0 || a.right > innerWidth) faults.clipped.push(name + ': ' + a.text);
      for (const b of boxes.slice(i + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // Boxes of text have room above and below the letters.
        if (across > touching && down > touching + 0.2 * Math.min(a.height, b.height))
          faults.overlaps.push(name + ': ' + a.text + ' and ' + b.text);
      }
    }
  }
  return faults;
})()`;

export function pageFaults(page: Page): Promise<PageFaults> {
  return page.evaluate(FIND) as Promise<PageFaults>;
}

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Serious findings of axe-core, whose script `axe` is. */
export async function axeFindings(page: Page, axe: string): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run()')) as { violations: Finding[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** Checks that hold on every page, at every width. */
export const NO_FAULTS = { tooWide: 0, overlaps: [], clipped: [], charts: [] };
/** CSS pixels. */
export const SMALLEST_TEXT = 11;
