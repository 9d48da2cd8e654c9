/** Panel 4: the numbers that share a scale, and the few levels they are rounded to. */
import { useMemo } from 'preact/hooks';
import { type GroupView, groupView } from '../run/group-view.js';
import type { Scene, SchemeEntry } from '../scene.js';
import { GroupChart } from '../view/group-chart.js';
import { Panel } from '../view/panel.js';
import { count, figure, visible, waitingText } from '../view/text.js';

export function HistogramPanel({ scene }: { readonly scene: Scene }) {
  return (
    <Panel
      id="groups"
      number={4}
      title="One group and its levels"
      lead="Numbers of a group share one scale: each bar counts how many of them lie there, each line is a level that a code stands for, and every number moves to the nearest line."
    >
      <div class="columns">
        {scene.entries.map((entry) => (
          <GroupCard key={entry.letter} scene={scene} entry={entry} />
        ))}
      </div>
    </Panel>
  );
}

function GroupCard({ scene, entry }: { readonly scene: Scene; readonly entry: SchemeEntry }) {
  const { tensor, kvHead, token, channel } = scene.selection;
  const run = entry.run.value;
  const view = useMemo(
    () => (run === null ? null : groupView(run, tensor, { head: kvHead, token, channel })),
    [run, tensor, kvHead, token, channel],
  );
  return (
    <article class={`card scheme-${entry.letter}`}>
      <div class="card-head">
        <span class="letter" aria-hidden="true">
          {entry.letter}
        </span>
        <h3>{visible(entry.scheme?.id ?? 'not valid')}</h3>
      </div>
      <p class="about group-about">{aboutText(view, entry)}</p>
      <div class="chart-room">
        {view?.kind === 'group' && <GroupChart view={view} label={labelOf(view, entry.letter)} />}
      </div>
    </article>
  );
}

function aboutText(view: GroupView | null, { run }: SchemeEntry): string {
  if (view === null) return waitingText(run);
  if (view.kind === 'window') return view.reason;
  const { values, stored, index, levels, where, moved } = view;
  const shown = `${figure(values[index] as number)} becomes ${figure(stored[index] as number)}`;
  const kinds =
    levels === null
      ? 'a codec of its own decides the levels'
      : `${count(levels.length, 'level')} from ${figure(levels[0] as number)} to ${figure(levels.at(-1) as number)}`;
  return `${where}: ${count(values.length, 'number')}${moved}, ${kinds}. The marked one: ${shown}.`;
}

function labelOf(view: Extract<GroupView, { kind: 'group' }>, letter: string): string {
  const { values, levels } = view;
  return `Scheme ${letter}: histogram of ${values.length} numbers from ${figure(Math.min(...values))} to ${figure(Math.max(...values))}${levels === null ? '' : ` with ${levels.length} levels`}`;
}
