/**
 * A report as one HTML page: no network, no script needed, two themes, phone and paper.
 */
import { createHash } from 'node:crypto';
import { VERDICT_LEVELS } from '@lowbit-kv/harness';
import { html, Markup } from '../markup.js';
import { type AnyReport, isComparison, LEVEL_WORDS, type ReportContext } from '../report-kind.js';
import { compareView } from '../view/compare-view.js';
import { evalView } from '../view/eval-view.js';
import type { ReportView } from '../view/view.js';
import { memorySection } from './memory-section.js';
import { paretoChart } from './pareto-chart.js';
import { figure, table } from './parts.js';
import { schemesSection } from './scheme-section.js';
import { SCRIPT } from './script.js';
import { speedSection } from './speed-section.js';
import { STYLE } from './style.js';
import { verdictSection } from './verdicts.js';

/** Everything in it that a report or the context says is escaped. */
export function renderPage(report: AnyReport, context: ReportContext = {}): string {
  const view = isComparison(report) ? compareView(report, context) : evalView(report, context);
  const script = createHash('sha256').update(SCRIPT).digest('base64');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${script}'`;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.title}: ${view.kind} of key-value cache schemes</title>
<style>${new Markup(STYLE)}</style></head>
<body><main>
<header><p class="soft">lowbit-kv ${view.kind}</p><h1>${view.title}</h1><p>${view.subtitle}</p></header>
${verdictSection(view)}
${accuracySection(view)}
${memorySection(view)}
${speedSection(view)}
${schemesSection(view, context.configs ?? {})}
<section aria-labelledby="provenance"><h2 id="provenance">Provenance</h2>
<dl>${view.facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)}</dl></section>
</main><script>${new Markup(SCRIPT)}</script></body></html>
`;
  return page.text;
}

function accuracySection(view: ReportView): Markup {
  const chart = paretoChart(view);
  const shown = new Set(
    view.schemes.filter(({ error }) => error !== null).map(({ verdict }) => verdict.level),
  );
  const levels = VERDICT_LEVELS.filter((level) => shown.has(level));
  const legend = html`<ul class="legend" aria-label="Colours of the points">${levels.filter((level) => level !== 'baseline').map((level) => html`<li><i style="--swatch:var(--level-${level})"></i>${LEVEL_WORDS[level]}</li>`)}</ul>`;
  return html`<section aria-labelledby="accuracy"><h2 id="accuracy">Accuracy against size</h2>
${chart === null ? null : html`${figure(chart, 'Numbers are those of the verdicts above, where there is room; the table has all. Schemes on the line are beaten by no other in both bits and error.')}${legend}`}
${view.tables.map((view) => table(view))}</section>`;
}
