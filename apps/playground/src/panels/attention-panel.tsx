/** Panel 6: what a query looks at, before and after, and how far its answer is off. */
import { errorSum, nmseOf, positionOf } from '@lowbit-kv/harness/browser';
import { useMemo } from 'preact/hooks';
import { attentionWeights, mostAttended } from '../run/attention-weights.js';
import type { SchemeRun } from '../run/run-scheme.js';
import type { Scene } from '../scene.js';
import { Panel, Select, Slider } from '../view/panel.js';
import { figure, percentText } from '../view/text.js';
import { WeightsChart } from '../view/weights-chart.js';

const NAMED_TOKENS = 5;

export function AttentionPanel({ scene }: { readonly scene: Scene }) {
  const { data, layer, selection, change, entries } = scene;
  const group = data === null ? 1 : data.sizes.queryHeads / data.sizes.kvHeads;
  const firstHead = selection.kvHead * group;
  const exact = useMemo(
    () =>
      data === null || layer === null
        ? null
        : attentionWeights(layer.exact.key, layer.query, selection, data.sizes),
    [data, layer, selection.query, selection.queryHead],
  );
  const afterwards = [useWeights(scene, 0), useWeights(scene, 1), useWeights(scene, 2)];
  const lines = entries.flatMap(({ letter }, i) => {
    const weights = afterwards[i];
    return weights == null ? [] : [{ letter, weights }];
  });
  const top = exact === null ? [] : mostAttended(exact, NAMED_TOKENS);
  const position = data === null ? 0 : positionOf(data.sizes, selection.query);
  return (
    <Panel
      id="attention"
      number={6}
      title="Attention"
      lead="A query compares itself with every key and mixes the values by how well they match: errors in keys make it look at other tokens, errors in values change what it sees."
    >
      <div class="row">
        <Slider
          label="Query of token"
          value={selection.query}
          min={0}
          max={(data?.sizes.queries ?? 32) - 1}
          text={String(position)}
          change={(query) => change({ query })}
        />
        <Select
          label="Query head"
          value={String(selection.queryHead - firstHead)}
          options={Array.from({ length: group }, (_, i) => [String(i), `Head ${firstHead + i}`])}
          choose={(text) => change({ queryHead: Number(text) })}
        />
        <ul class="legend">
          <li class="exact">before, in f16</li>
          {entries.map(({ letter, scheme }) => (
            <li key={letter} class={`line-${letter}`}>
              {letter}, {scheme?.id ?? 'not valid'}
            </li>
          ))}
        </ul>
      </div>
      <div class="chart-box">
        {exact !== null && (
          <WeightsChart
            exact={exact}
            lines={lines}
            label={`Weights of ${exact.length} tokens. Most attended before: ${top.map((token) => `token ${token} with ${percentText(exact[token] as number)}`).join(', ')}.`}
          />
        )}
      </div>
      <p class="caption" id="attention-table">
        The tokens it looks at most, and the error of what it reads
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keyboard too. */}
      <section class="scroll" aria-labelledby="attention-table" tabIndex={0}>
        <table aria-labelledby="attention-table">
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col">Before</th>
              {entries.map(({ letter }) => (
                <th key={letter} scope="col">
                  {letter}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: NAMED_TOKENS }, (_, i) => {
              const token = top[i];
              return (
                <tr key={token ?? -i}>
                  <th scope="row">{token ?? '–'}</th>
                  <td>{token === undefined ? '–' : percentText(exact?.[token] ?? 0)}</td>
                  {entries.map(({ letter }, place) => (
                    <td key={letter}>
                      {token === undefined || afterwards[place] == null
                        ? '–'
                        : percentText(afterwards[place]?.[token] ?? 0)}
                    </td>
                  ))}
                </tr>
              );
            })}
            <tr class="total">
              <th scope="row">Error of the output</th>
              <td>0</td>
              {entries.map(({ letter, run }) => (
                <td key={letter}>{run.value === null ? '–' : outputText(run.value, scene)}</td>
              ))}
            </tr>
          </tbody>
        </table>
      </section>
    </Panel>
  );
}

function useWeights({ data, layer, selection, entries }: Scene, place: number) {
  const run = entries[place]?.run.value ?? null;
  return useMemo(() => {
    if (data === null || layer === null || run === null) return null;
    return attentionWeights(run.held.key, layer.query, selection, data.sizes);
  }, [data, layer, run, selection.query, selection.queryHead]);
}

/** Power of the error over that of the output, of this query and head. */
function outputText({ output }: SchemeRun, { data, exact, selection }: Scene): string {
  if (data === null || exact === null) return '–';
  const { queryHeads, valueHeadDim } = data.sizes;
  const first = (selection.query * queryHeads + selection.queryHead) * valueHeadDim;
  return figure(nmseOf(errorSum(output, exact.output, first, first + valueHeadDim)));
}
