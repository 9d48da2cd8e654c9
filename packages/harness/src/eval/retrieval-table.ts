/** Retrieval as tables, by context length: of f16 the log-probabilities, of schemes what changed. */
import { renderTable, type TableStyle } from '../text-table.js';
import type { EvalRetrieval } from './report.js';
import { fixed, signed } from './table-figures.js';

/** Depths side by side. */
const TABLE_DEPTHS = 10;

/** Each table is followed by an empty line. */
export function retrievalLines(retrieval: EvalRetrieval, style: TableStyle): string[] {
  const lengths = new Set(retrieval.prompts.map(({ contextTokens }) => contextTokens));
  return [...lengths].flatMap((tokens) => {
    const places = [...retrieval.prompts.entries()].flatMap(([place, { contextTokens }]) =>
      contextTokens === tokens ? [place] : [],
    );
    const tables = Math.ceil(places.length / TABLE_DEPTHS);
    return Array.from({ length: tables }, (_, i) => [
      ...renderTable(
        tableRows(retrieval, tokens, places.slice(i * TABLE_DEPTHS, (i + 1) * TABLE_DEPTHS)),
        style,
      ),
      '',
    ]).flat();
  });
}

/** Of some prompts with contexts of one length. */
function tableRows(
  { prompts, rows }: EvalRetrieval,
  tokens: number,
  places: readonly number[],
): string[][] {
  const [f16, ...schemes] = rows;
  return [
    [`in ${tokens} tokens`, ...places.map((i) => `${prompts[i]?.depth} %`)],
    ['without the key', ...places.map((i) => fixed(prompts[i]?.withoutKey ?? null, 2))],
    [f16?.id ?? '', ...places.map((i) => fixed(f16?.answers[i]?.logProbability ?? null, 2))],
    ...schemes.map(({ id, answers }) => [
      id,
      ...places.map((i) => signed(answers[i]?.change ?? null, 2)),
    ]),
  ];
}
