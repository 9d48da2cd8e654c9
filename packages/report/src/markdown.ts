/** A report as Markdown: the tables and verdicts of the terminal under a title, then where the figures come from. */
import { formatEvalReport, formatReport } from '@lowbit-kv/harness';
import { visible } from './markup.js';
import { type AnyReport, isComparison, type ReportContext } from './report-kind.js';
import { provenanceFacts } from './view/provenance.js';

export function renderMarkdown(report: AnyReport, context: ReportContext = {}): string {
  const comparison = isComparison(report);
  const body = comparison ? formatReport(report, 'markdown') : formatEvalReport(report, 'markdown');
  const facts = provenanceFacts(report, context).map(
    ([name, value]) => `- ${name}: ${inlineCode(value)}`,
  );
  const title = comparison ? 'Comparison on a capture' : 'Evaluation of a model';
  return `${[`# ${title}`, '', body, '', '## Provenance', '', ...facts].join('\n')}\n`;
}

/** A code span in which nothing is markup, whatever the text holds. */
function inlineCode(text: string): string {
  const line = visible(text).replaceAll('\n', ' ');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}
