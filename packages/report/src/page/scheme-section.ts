/** A scheme by itself: where its errors are, over positions, layers and heads, and how a program gets it. */
import { html, type Markup } from '../markup.js';
import { LEVEL_WORDS } from '../report-kind.js';
import { cell, short } from '../view/figures.js';
import { worstCells } from '../view/heat-map.js';
import type { HeatMapView, ReportView, SchemeView, TableView } from '../view/view.js';
import { curveChart } from './curve-chart.js';
import { heatSteps } from './heat-colors.js';
import { heatMapChart } from './heat-map-chart.js';
import { figure, table } from './parts.js';

/** Larger heat maps have a table of their worst cells only. */
const TABLE_CELLS = 400;
const WORST_ROWS = 8;

export function schemesSection(
  view: ReportView,
  configs: Readonly<Record<string, string>>,
): Markup {
  // A report may call a scheme `constructor`.
  const configOf = new Map(Object.entries(configs));
  const tops = view.schemes.flatMap(({ curve }) => curve.map(({ divergence }) => divergence ?? 0));
  const top = Math.max(...tops, 1e-6);
  const legend = html`<ul class="legend" aria-label="Colours of the heat maps: NMSE">${heatSteps(view.limits).map(({ color, label }) => html`<li><i style="--swatch:${color}"></i>${label}</li>`)}</ul>`;
  return html`<section aria-labelledby="schemes"><h2 id="schemes">Scheme by scheme</h2>
<p class="soft">NMSE is the power of the error over the power of the exact values. Colours of the heat maps change at the limits of the verdicts:</p>
${legend}<div class="schemes">
${view.schemes.map((scheme, number) => schemeCard(scheme, number, view, top, configOf.get(scheme.id)))}</div></section>`;
}

function schemeCard(
  scheme: SchemeView,
  number: number,
  { limits }: ReportView,
  top: number,
  config: string | undefined,
): Markup {
  const { id, title, verdict, fingerprint, heatMap, curve, buckets, notes } = scheme;
  return html`<article class="scheme level-${verdict.level}" id="scheme-${number}" aria-labelledby="scheme-${number}-name">
<h3 id="scheme-${number}-name"><span class="number">${number}</span> ${id} <span class="badge">${LEVEL_WORDS[verdict.level]}</span></h3>
<p class="soft">${title}</p>
${curve.length < 2 || verdict.level === 'baseline' ? null : figure(curveChart(curve, id, top), 'Mean KL divergence from f16 by position; one scale for all schemes.')}
${buckets === null || verdict.level === 'baseline' ? null : table(buckets)}
${heatMap === null ? null : heatMapFigure(heatMap, id, limits)}
${notes.map((note) => html`<p>${note}</p>`)}
${fingerprint === null ? null : html`<p class="soft">Fingerprint <code>${fingerprint}</code></p>`}
${config === undefined ? null : html`<h4>Copy config</h4><pre tabindex="0" role="region" aria-label="config of ${id}">${config}</pre>`}
</article>`;
}

function heatMapFigure(map: HeatMapView, id: string, limits: ReportView['limits']): Markup {
  return html`<figure><figcaption>${map.title}</figcaption>${heatMapChart(map, id, limits)}
<ul class="worst">${map.groups.map(({ name, worst }) => html`<li>Worst ${name}: ${worst}</li>`)}</ul>
<details><summary>As a table</summary>${table(mapTable(map, id), false)}</details></figure>`;
}

function mapTable({ layers, groups }: HeatMapView, id: string): TableView {
  const rows = groups.flatMap((group) => group.rows);
  if (layers.length * rows.length <= TABLE_CELLS) {
    return {
      caption: `${id}: NMSE`,
      head: ['', ...layers.map((layer) => `layer ${layer}`)],
      rows: rows.map(({ label, values }) => [label, ...values.map((value) => short(value))]),
    };
  }
  return {
    caption: `${id}: NMSE, the ${WORST_ROWS} worst of each; report.json has all`,
    head: ['of', 'place', 'NMSE'],
    rows: groups.flatMap((group) =>
      worstCells(layers, group.rows)
        .slice(0, WORST_ROWS)
        .map(({ value, place }) => [group.name, place, cell(value)]),
    ),
  };
}
