/** The first thing a page says: a sentence over all schemes, then a verdict for each. */
import { html, type Markup } from '../markup.js';
import { LEVEL_WORDS } from '../report-kind.js';
import { fixed } from '../view/figures.js';
import type { ReportView, SchemeView } from '../view/view.js';

export function verdictSection(view: ReportView): Markup {
  return html`<section aria-labelledby="verdicts"><h2 id="verdicts">Verdicts</h2>
${view.valid ? null : html`<p class="alarm">A self-check failed. The figures of the schemes marked INVALID mean nothing.</p>`}
<p class="lead">${summary(view.schemes)}</p>
<ol class="verdicts" start="0">${view.schemes.map(verdictItem)}</ol></section>`;
}

function verdictItem({ id, title, verdict, bits }: SchemeView, number: number): Markup {
  const size = bits === null ? null : html` <span class="soft">${fixed(bits, 2)} bits</span>`;
  return html`<li class="level-${verdict.level}"><span class="number">${number}</span> <a href="#scheme-${number}"><strong>${id}</strong></a>: <span class="badge">${LEVEL_WORDS[verdict.level]}</span>${size}<br><span class="soft">${title}.</span> ${verdict.reason}</li>\n`;
}

function summary(schemes: readonly SchemeView[]): string {
  const judged = schemes.filter(({ verdict }) => verdict.level !== 'baseline');
  const safe = judged.filter(({ verdict }) => verdict.level === 'safe');
  const care = judged.filter(({ verdict }) => verdict.level === 'care');
  const of = judged.length === 1 ? '1 scheme' : `${judged.length} schemes`;
  if (safe.length > 0) return `Safe here: ${safe.length} of ${of}. ${smallest(safe)}`;
  if (care.length > 0)
    return `None of ${of} is safe here; ${care.length} can be used with care. ${smallest(care)}`;
  return `None of ${of} is safe here, nor usable with care.`;
}

function smallest(schemes: readonly SchemeView[]): string {
  const sized = schemes.flatMap(({ id, bits }) => (bits === null ? [] : [{ id, bits }]));
  const [least] = sized.toSorted((a, b) => a.bits - b.bits);
  return least === undefined
    ? ''
    : `The smallest of them is ${least.id}, at ${least.bits.toFixed(2)} bits per element against 16.`;
}
