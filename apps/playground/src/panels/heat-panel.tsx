/** Panel 3: one head before, after, and what was lost. */
import { useMemo } from 'preact/hooks';
import type { SchemeRun } from '../run/run-scheme.js';
import type { Scene, SchemeEntry } from '../scene.js';
import { useTheme } from '../view/colors.js';
import {
  difference,
  type ErrorPlaces,
  errorPlaces,
  type HeadMap,
  headMap,
  largestMagnitude,
} from '../view/head-values.js';
import { HeatStrip } from '../view/heat-strip.js';
import { Choice, Panel, Slider } from '../view/panel.js';
import { figure, percentText, waitingText } from '../view/text.js';

const TENSORS = [
  ['key', 'Keys'],
  ['value', 'Values'],
] as const;

export function HeatPanel({ scene }: { readonly scene: Scene }) {
  const { change, selection, data, layer, entries } = scene;
  const { tensor, kvHead, token, channel } = selection;
  const theme = useTheme();
  const exact = useMemo(() => {
    if (data === null || layer === null) return null;
    const { kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
    const dim = tensor === 'key' ? keyHeadDim : valueHeadDim;
    return headMap(layer.exact[tensor], kvHead, kvHeads, dim);
  }, [layer, data, tensor, kvHead]);
  const stored = [
    useStored(exact, entries[0], scene),
    useStored(exact, entries[1], scene),
    useStored(exact, entries[2], scene),
  ];
  const largest = useMemo(() => (exact === null ? 0 : largestMagnitude(exact)), [exact]);
  const largestError = Math.max(0, ...stored.map((one) => one?.largestError ?? 0));
  const strip = {
    ...{ theme, token, channel },
    pick: (to: number, at: number) => change({ token: to, channel: at }),
  };
  return (
    <Panel
      id="heat"
      number={3}
      title="Before, after, and what is lost"
      lead="Each picture is one head: tokens run from left to right, channels from top to bottom, and a strong colour is a large number."
    >
      <div class="row">
        <Choice
          label="What to look at"
          options={TENSORS}
          value={tensor}
          choose={(chosen) => change({ tensor: chosen })}
        />
        <Slider
          label="Token"
          value={token}
          min={0}
          max={(data?.sizes.tokens ?? 1024) - 1}
          change={(value) => change({ token: value })}
        />
        <Slider
          label="Channel"
          value={channel}
          min={0}
          max={(exact?.channels ?? 64) - 1}
          change={(value) => change({ channel: value })}
        />
      </div>
      <p class="readout heat-readout" aria-live="polite">
        {readout(scene, exact, stored)}
      </p>
      <HeatStrip
        {...strip}
        title="As the model made them, f16"
        summary={exact === null ? 'reading' : `from ${figure(-largest)} to ${figure(largest)}`}
        map={exact}
        kind="values"
        largest={largest}
      />
      {entries.map((entry, i) => (
        <div key={entry.letter} class={`pair scheme-${entry.letter}`}>
          <HeatStrip
            {...strip}
            title={`${entry.letter}, stored`}
            summary={entry.scheme?.id ?? 'no valid scheme'}
            map={stored[i]?.map ?? null}
            kind="values"
            largest={largest}
          />
          <HeatStrip
            {...strip}
            title={`${entry.letter}, error`}
            summary={placesText(stored[i]?.places, entry)}
            map={stored[i]?.errors ?? null}
            kind="errors"
            largest={largestError}
          />
        </div>
      ))}
      <div class="scales" aria-hidden="true">
        <span class="scale values">
          <b>{figure(-largest)}</b>
          <i />
          <b>{figure(largest)}</b>
        </span>
        <span class="scale errors">
          <b>no error</b>
          <i />
          <b>{figure(largestError)}</b>
        </span>
      </div>
    </Panel>
  );
}

interface StoredHead {
  readonly run: SchemeRun;
  readonly map: HeadMap;
  readonly errors: HeadMap;
  readonly places: ErrorPlaces;
  readonly largestError: number;
}

function useStored(
  exact: HeadMap | null,
  entry: SchemeEntry | undefined,
  { data, selection }: Scene,
): StoredHead | null {
  const run = entry?.run.value ?? null;
  const { tensor, kvHead } = selection;
  return useMemo(() => {
    if (exact === null || run === null || data === null) return null;
    const map = headMap(run.held[tensor], kvHead, data.sizes.kvHeads, exact.channels);
    const errors = difference(exact, map);
    const places = errorPlaces(exact, errors);
    return { run, map, errors, places, largestError: largestMagnitude(errors) };
  }, [exact, run]);
}

function placesText(places: ErrorPlaces | undefined, { run }: SchemeEntry): string {
  if (places === undefined) return waitingText(run);
  if (places.nmse === 0) return 'nothing is lost';
  const { channel, token, nmse } = places;
  return `${percentText(nmse)} of the power lost; worst channel ${channel.index} (off by ${figure(channel.error)}, its values are ${figure(channel.value)}), worst token ${token.index} (off by ${figure(token.error)})`;
}

function readout(
  { selection, entries }: Scene,
  exact: HeadMap | null,
  stored: readonly (StoredHead | null)[],
): string {
  const { token, channel, tensor } = selection;
  if (exact === null) return 'Reading the numbers.';
  const at = token * exact.channels + channel;
  const copies = entries.map(({ letter }, i) => {
    const value = stored[i]?.map.values[at];
    return `${letter} keeps ${value === undefined ? 'nothing yet' : figure(value)}`;
  });
  return `Token ${token}, channel ${channel}: the ${tensor} is ${figure(exact.values[at] as number)}; ${copies.join(', ')}.`;
}
