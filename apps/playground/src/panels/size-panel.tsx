/** Panel 7: bits and bytes, for these tokens and for long contexts. */
import { createPlan, type Plan, planBytes } from '@lowbit-kv/core';
import { F16, MEMORY_TOKENS, memoryFigures } from '@lowbit-kv/harness/browser';
import { useMemo } from 'preact/hooks';
import type { Scene } from '../scene.js';
import { Panel } from '../view/panel.js';
import { bytesText } from '../view/text.js';

const PARTS = [
  ['codes', 'codes'],
  ['parameters', 'scales and zeros'],
  ['outliers', 'outliers'],
  ['windows', 'f16 windows'],
  ['unused', 'padding, and room that is not used'],
] as const;

interface SizeRow {
  /** Bits per number at the length of the data. */
  readonly bits: Readonly<Record<(typeof PARTS)[number][0], number>>;
  readonly total: number;
  readonly bytes: readonly number[];
  readonly ratio: number;
}

export function SizePanel({ scene }: { readonly scene: Scene }) {
  const { data, entries } = scene;
  const tokens = data?.sizes.tokens ?? 0;
  const runs = entries.map(({ run }) => run.value);
  const rows = useMemo(() => {
    if (data === null) return [];
    const f16 = createPlan(F16, { ...data.geometry, layers: data.modelLayers });
    return [sizeRow(f16, tokens), ...runs.map((run) => run && sizeRow(run.plans.model, tokens))];
  }, [data, ...runs, entries.length]);
  const shown = [null, ...entries].map((entry, i) => ({ entry, row: rows[i] ?? null }));
  return (
    <Panel
      id="size"
      number={7}
      title="Bits and bytes"
      lead="Every number of f16 takes 16 bits; what a scheme takes is its codes and everything around them, counted to the byte."
    >
      <p class="caption" id="size-table">
        {data === null
          ? 'Counting.'
          : `Bits per number for these ${tokens} tokens, and memory of one sequence in ${data.modelLayers === 1 ? 'this one layer' : `all ${data.modelLayers} layers`}`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keyboard too. */}
      <section class="scroll" aria-labelledby="size-table" tabIndex={0}>
        <table class="sizes" aria-labelledby="size-table">
          <thead>
            <tr>
              <th scope="col">Scheme</th>
              <th scope="col" class="wide">
                Bits per number
              </th>
              <th scope="col">{tokens}</th>
              {MEMORY_TOKENS.map((length) => (
                <th key={length} scope="col">
                  {length / 1024}K
                </th>
              ))}
              <th scope="col">Smaller</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ entry, row }) => (
              <tr key={entry?.letter ?? 'f16'}>
                <th scope="row">
                  {entry === null ? 'f16' : `${entry.letter}, ${entry.scheme?.id ?? 'not valid'}`}
                </th>
                <td class="wide">
                  <div class="bits">
                    <span class="bar" aria-hidden="true">
                      {row !== null &&
                        PARTS.map(([part]) => (
                          <i
                            key={part}
                            class={`part-${part}`}
                            style={{ width: `${(100 * row.bits[part]) / 16}%` }}
                          />
                        ))}
                    </span>
                    <b>{row === null ? '–' : row.total.toFixed(2)}</b>
                  </div>
                </td>
                {Array.from({ length: 1 + MEMORY_TOKENS.length }, (_, i) => (
                  <td key={i}>{row === null ? '–' : bytesText(row.bytes[i] as number)}</td>
                ))}
                <td>{row === null ? '–' : `${row.ratio.toFixed(2)}×`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <ul class="legend parts">
        {PARTS.map(([part, text]) => (
          <li key={part} class={`part-${part}`}>
            {text}
          </li>
        ))}
      </ul>
      <p class="hint">
        “Smaller” compares with f16 at 128K tokens. Long contexts have fewer of their tokens in f16
        windows.
      </p>
    </Panel>
  );
}

function sizeRow(plan: Plan, tokens: number): SizeRow {
  const bytes = planBytes(plan, tokens);
  const per = (part: number) => (16 * part) / bytes.f16Total;
  const figures = memoryFigures(plan);
  return {
    bits: {
      codes: per(bytes.codes),
      parameters: per(bytes.parameters + bytes.statistics),
      outliers: per(bytes.outliers.expected),
      windows: per(bytes.windows),
      unused: per(bytes.alignment + bytes.outliers.reserved - bytes.outliers.expected),
    },
    total: per(bytes.total),
    bytes: [bytes.total, ...figures.map((figure) => figure.bytes)],
    ratio: figures.at(-1)?.ratio ?? 1,
  };
}
