/** Retrieval as a table: of f16 the log-probabilities, of schemes what changed. */
import { renderTable, type TableStyle } from '../text-table.js';
import type { EvalRetrieval } from './report.js';

export function retrievalLines({ prompts, rows }: EvalRetrieval, style: TableStyle): string[] {
  const severalContexts = new Set(prompts.map(({ contextTokens }) => contextTokens)).size > 1;
  const heads = prompts.map(({ contextTokens, depth }) =>
    severalContexts ? `${contextTokens}@${depth} %` : `${depth} %`,
  );
  const [f16, ...schemes] = rows;
  const cells = (values: readonly (number | null)[]) =>
    values.map((value) => (value === null ? '-' : value.toFixed(2)));
  return renderTable(
    [
      ['scheme', ...heads],
      ['without the key', ...cells(prompts.map(({ withoutKey }) => withoutKey))],
      [f16?.id ?? '', ...cells(f16?.answers.map(({ logProbability }) => logProbability) ?? [])],
      ...schemes.map(({ id, answers }) => [
        id,
        ...answers.map(({ change }) =>
          change === null ? '-' : `${change < 0 ? '' : '+'}${change.toFixed(2)}`,
        ),
      ]),
    ],
    style,
  );
}
