/** A scheme by itself: where its errors are, over positions, layers and heads, and how a program gets it. */
import { html, type Markup } from '../markup.js';
import { LEVEL_WORDS } from '../report-kind.js';
import { cell, short } from '../view/figures.js';
import type { HeatMapView, ReportView, SchemeView, TableView } from '../view/view.js';
import { curveChart, heatMapChart } from './charts.js';
import { heatSteps } from './heat-colors.js';
import { figure, table } from './parts.js';

/** Larger heat maps have a table of their worst cells only. */
const TABLE_CELLS = 400;
const WORST_ROWS = 20;

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
  const { id, title, verdict, fingerprint, heatMaps, curve, buckets, notes } = scheme;
  return html`<article class="scheme level-${verdict.level}" id="scheme-${number}" aria-labelledby="scheme-${number}-name">
<h3 id="scheme-${number}-name"><span class="number">${number}</span> ${id} <span class="badge">${LEVEL_WORDS[verdict.level]}</span></h3>
<p class="soft">${title}</p>
${curve.length < 2 || verdict.level === 'baseline' ? null : figure(curveChart(curve, id, top), 'Mean KL divergence from f16 by position; one scale for all schemes.')}
${buckets === null || verdict.level === 'baseline' ? null : table(buckets)}
<div class="maps">${verdict.level === 'baseline' ? null : heatMaps.map((map) => heatMapFigure(map, id, limits))}</div>
${notes.map((note) => html`<p>${note}</p>`)}
${fingerprint === null ? null : html`<p class="soft">Fingerprint <code>${fingerprint}</code></p>`}
${config === undefined ? null : html`<h4>Copy config</h4><pre tabindex="0" role="region" aria-label="config of ${id}">${config}</pre>`}
</article>`;
}

function heatMapFigure(map: HeatMapView, id: string, limits: ReportView['limits']): Markup {
  return html`<figure><figcaption>${map.title}</figcaption>${heatMapChart(map, id, limits)}<figcaption>Worst: ${map.worst}.</figcaption>
<details><summary>As a table</summary>${table(mapTable(map, id), false)}</details></figure>`;
}

function mapTable(map: HeatMapView, id: string): TableView {
  const caption = `${id}. ${map.title}`;
  if (map.layers.length * map.rows.length <= TABLE_CELLS) {
    return {
      caption,
      head: [map.rowName, ...map.layers.map((layer) => `layer ${layer}`)],
      rows: map.rows.map((name, y) => [
        name,
        ...(map.values[y] ?? []).map((value) => short(value)),
      ]),
    };
  }
  const size = (value: number | null) => value ?? Number.POSITIVE_INFINITY;
  const cells = map.values.flatMap((row, y) =>
    row.map((value, x) => ({ value, layer: map.layers[x], row: map.rows[y] })),
  );
  return {
    caption: `${caption}; the ${WORST_ROWS} worst, report.json has all`,
    head: ['place', 'NMSE'],
    rows: cells
      .toSorted((a, b) => (size(a.value) === size(b.value) ? 0 : size(b.value) - size(a.value)))
      .slice(0, WORST_ROWS)
      .map(({ value, layer, row }) => [`layer ${layer} ${row}`, cell(value)]),
  };
}
