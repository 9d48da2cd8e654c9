/** A report as Markdown: the tables and verdicts of the terminal under a title, then where the figures come from. */
import { formatEvalReport, formatReport, timeText } from '@lowbit-kv/harness';
import { visible } from './markup.js';
import { type AnyReport, isComparison, type ReportContext } from './report-kind.js';
import { provenanceFacts } from './view/provenance.js';
import { type SpeedGroup, type SpeedView, speedView } from './view/speed-view.js';

export function renderMarkdown(report: AnyReport, context: ReportContext = {}): string {
  const comparison = isComparison(report);
  const body = comparison ? formatReport(report, 'markdown') : formatEvalReport(report, 'markdown');
  const facts = provenanceFacts(report, context).map(
    ([name, value]) => `- ${name}: ${inlineCode(value)}`,
  );
  const speed = speedView(report.schemes, context.benches ?? []);
  const title = comparison ? 'Comparison on a capture' : 'Evaluation of a model';
  return `${[`# ${title}`, '', body, '', ...speedLines(speed), '## Provenance', '', ...facts].join('\n')}\n`;
}

function speedLines(speed: SpeedView | null): string[] {
  if (speed === null) return [];
  const groups = speed.groups.flatMap((group) => [
    `${inlineCode(group.backend)}: ${group.shape} (${inlineCode(group.source)}); microseconds of a layer and new token:`,
    '',
    ...speedTable(group),
    '',
  ]);
  const missing =
    speed.unmeasured.length === 0
      ? []
      : [`Not measured: ${speed.unmeasured.map(inlineCode).join(', ')}.`, ''];
  return ['## Speed', '', ...groups, ...missing];
}

function speedTable({ contexts, lines }: SpeedGroup): string[] {
  const head = ['scheme', ...contexts.map(String), 'append', 'faster than f16'];
  const time = (value: number | undefined) => (value === undefined ? '-' : timeText(value));
  const rows = lines.map(({ id, points, breakEven }) => [
    inlineCode(id),
    ...contexts.map((context) => time(points.find((point) => point.context === context)?.step)),
    time(points[0]?.append),
    breakEven ?? '-',
  ]);
  const line = (cells: readonly string[]) => `| ${cells.map(escapedPipes).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function escapedPipes(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** A code span in which nothing is markup, whatever the text holds. */
function inlineCode(text: string): string {
  const line = visible(text).replaceAll('\n', ' ');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}
