/** What decode steps took where a benchmark measured them, and from which context on schemes are faster than f16. */
import { timeText } from '@lowbit-kv/harness';
import { html, type Markup } from '../markup.js';
import { cell, tokensText } from '../view/figures.js';
import type { SpeedGroup, SpeedView } from '../view/speed-view.js';
import type { ReportView, TableView } from '../view/view.js';
import { figure, table } from './parts.js';
import { speedChart } from './speed-chart.js';

/** Null without a benchmark. */
export function speedSection({ speed, schemes }: ReportView): Markup | null {
  if (speed === null) return null;
  const numberOf = (id: string) => schemes.findIndex((scheme) => scheme.id === id);
  return html`<section aria-labelledby="speed"><h2 id="speed">Speed</h2>
<p>Measured times of a decode step, append and attention, for one layer and one new token: medians of benchmarks of drawn data, whose shapes stand beside them. The break-even context is where the line between two measured contexts crosses that of f16; what was not measured is not estimated.</p>
${speed.groups.map((group) => groupSection(group, numberOf))}
${unmeasured(speed)}</section>`;
}

function groupSection(group: SpeedGroup, numberOf: (id: string) => number): Markup {
  const chart = speedChart(group, numberOf);
  return html`<h3>${group.backend}: ${group.shape}</h3><p class="soft">${group.source}</p>
${chart === null ? null : figure(chart, 'Microseconds of a layer and new token; numbers are those of the verdicts.')}
${table(speedTable(group))}`;
}

function speedTable({ contexts, lines }: SpeedGroup): TableView {
  return {
    caption:
      'Microseconds of a layer and new token by context, and from which context on a step is faster than with f16',
    head: ['Scheme', ...contexts.map(tokensText), 'Of that append', 'Faster than f16'],
    rows: lines.map(({ id, points, breakEven }) => [
      id,
      ...contexts.map((context) => {
        const step = points.find((point) => point.context === context)?.step;
        return cell(step, step === undefined ? 'not measured' : timeText(step));
      }),
      cell(points[0]?.append, points[0] === undefined ? '-' : timeText(points[0].append)),
      breakEven ?? '-',
    ]),
  };
}

function unmeasured({ groups, unmeasured: ids }: SpeedView): Markup | null {
  if (groups.length === 0)
    return html`<p>No decode step of a scheme of this report was measured: break-even contexts are not measured.</p>`;
  return ids.length === 0 ? null : html`<p class="soft">Not measured: ${ids.join(', ')}.</p>`;
}
