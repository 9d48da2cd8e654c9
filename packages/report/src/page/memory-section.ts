/** What the cache of one sequence takes, and which contexts fit on the cards people own. */
import { html, type Markup } from '../markup.js';
import { cell, tokensText } from '../view/figures.js';
import type { ReportView, TableView } from '../view/view.js';
import { memoryChart } from './charts.js';
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

const LENGTHS = Array.from({ length: 11 }, (_, i) => 1024 * 2 ** i);

/** Null where a report has no memory figures. */
export function memorySection({ schemes, paretoFront, memoryNote }: ReportView): Markup | null {
  const lines = memoryLines(schemes);
  if (lines.length === 0 || memoryNote === null) return null;
  const front = lines.filter(({ id }, i) => i === 0 || paretoFront.includes(id));
  const drawn = (front.length > 1 ? front : lines).slice(0, DRAWN);
  const cards = CARD_GIGABYTES.map((size) => ({ name: `${size} GB`, bytes: size * GIBIBYTE }));
  const lengths = lengthsUpTo(drawn);
  return html`<section aria-labelledby="memory"><h2 id="memory">Memory against context length</h2>
<p>${memoryNote}: the cache alone, without weights and activations, from the plan of each scheme at 8K, 32K and 128K tokens and the line through them. A GB of a card is 1024³ bytes.</p>
${figure(memoryChart(drawn, lengths, cards), `f16${front.length > 1 ? ' and schemes on the Pareto line' : ' and the schemes'}; dashed lines are sizes of cards. ${drawn.length < lines.length ? 'The table has every scheme.' : ''}`)}
${table(fitTable(lines))}</section>`;
}

/** To where f16 fills the largest card, at least to the longest planned context. */
function lengthsUpTo([f16]: readonly MemoryLine[]): number[] {
  const fits = tokensThatFit(f16 as MemoryLine, GIBIBYTE * (CARD_GIGABYTES.at(-1) as number));
  return LENGTHS.map((length) => 8 * length).filter(
    (length) => length <= Math.max(131072, 2 * fits),
  );
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
