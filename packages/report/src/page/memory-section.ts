/** What the cache of one sequence takes, and which contexts fit on the cards people own. */
import { html, type Markup } from '../markup.js';
import { cell, tokensText } from '../view/figures.js';
import type { ReportView, TableView } from '../view/view.js';
import { memoryChart } from './memory-chart.js';
import {
  CARD_GIGABYTES,
  GIBIBYTE,
  type MemoryLine,
  memoryLines,
  tokensThatFit,
} from './memory-lines.js';
import { figure, table } from './parts.js';

/** Lines in the chart, f16 among them: more cannot be told apart. The table has all. */
const DRAWN = 7;

/** Tokens: what the longest models of today take. */
const LONGEST = 1024 * 1024;
const LENGTHS = Array.from({ length: 8 }, (_, i) => 8192 * 2 ** i);

/** Null where a report has no memory figures. */
export function memorySection({ schemes, paretoFront, memoryNote }: ReportView): Markup | null {
  const lines = memoryLines(schemes);
  if (lines.length === 0 || memoryNote === null) return null;
  const front = lines.filter(({ id }, i) => i === 0 || paretoFront.includes(id));
  const drawn = (front.length > 1 ? front : lines).slice(0, DRAWN);
  const numbered = drawn.map((line) => ({
    ...line,
    number: schemes.findIndex(({ id }) => id === line.id),
  }));
  const cards = CARD_GIGABYTES.map((size) => ({ name: `${size} GB`, bytes: size * GIBIBYTE }));
  const lengths = lengthsUpTo(drawn);
  return html`<section aria-labelledby="memory"><h2 id="memory">Memory against context length</h2>
<p>${memoryNote}: the cache alone, without weights and activations, from the plan of each scheme at 8K, 32K and 128K tokens and the line through them. A GB of a card is 1024³ bytes.</p>
${figure(memoryChart(numbered, lengths, cards), `f16${front.length > 1 ? ' and schemes on the Pareto line' : ' and the schemes'}; dashed lines are sizes of cards; numbers are those of the verdicts. ${drawn.length < lines.length ? 'The table has every scheme.' : ''}`)}
${table(fitTable(lines))}</section>`;
}

/** To where f16 fills the largest card, from the longest planned context to the longest that models have. */
function lengthsUpTo([f16]: readonly MemoryLine[]): number[] {
  const fits = tokensThatFit(f16 as MemoryLine, GIBIBYTE * (CARD_GIGABYTES.at(-1) as number));
  const longest = Math.min(LONGEST, Math.max(131072, 2 * fits));
  return LENGTHS.filter((length) => length <= longest);
}

function fitTable(lines: readonly MemoryLine[]): TableView {
  return {
    caption: 'About how many tokens of one sequence fit when a card holds nothing else',
    head: ['Scheme', ...CARD_GIGABYTES.map((size) => `${size} GB`)],
    rows: lines.map((line) => [
      line.id,
      ...CARD_GIGABYTES.map((size) => {
        const tokens = tokensThatFit(line, size * GIBIBYTE);
        return cell(tokens, tokensText(tokens));
      }),
    ]),
  };
}
