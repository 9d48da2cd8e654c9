/** One of the schemes side by side: its run on the backend of choice, then its times on the other one. */
import type { Backend, Scheme } from '@lowbit-kv/core';
import type { ExactAttention, LayerTensors } from '@lowbit-kv/harness/browser';
import type { Dataset } from './data/dataset.js';
import { measureOn, runScheme } from './run/run-scheme.js';
import { WorkQueue } from './run/work-queue.js';
import type { SchemeEntry } from './scene.js';
import { useResource } from './use-resource.js';

export interface EntryInput {
  readonly data: Dataset | null;
  readonly layer: LayerTensors | null;
  readonly exact: ExactAttention | null;
  /** The one of choice first; null while it is not known. */
  readonly backends: readonly Backend[] | null;
}

/** Of all schemes: runs first, then measurements. */
const runs = new WorkQueue();

const NOT_RUN = { value: null, fault: null, pending: false } as const;

/** Null for no scheme in this place. `scheme` is null where it is not valid. */
export function useSchemeEntry(
  letter: SchemeEntry['letter'],
  choice: string | undefined,
  scheme: Scheme | null | undefined,
  { data, layer, exact, backends }: EntryInput,
): SchemeEntry | null {
  const [first, second] = backends ?? [];
  const run = useResource(
    (signal) => {
      if (!scheme || data === null || layer === null || exact === null || !first) return null;
      return runs.add(signal, () => runScheme(scheme, data, layer, exact, first));
    },
    [scheme, layer, exact, first],
  );
  // Of another scheme or layer, until the new one is there.
  const current = run.value?.scheme === scheme && run.value?.layer === layer ? run.value : null;
  const done = run.pending ? null : current;
  const other = useResource(
    (signal) => {
      if (done === null || data === null || !second) return null;
      return runs.add(signal, () => measureOn(second, done, data));
    },
    [done, second],
  );
  if (choice === undefined || scheme === undefined) return null;
  return {
    letter,
    choice,
    scheme,
    run: scheme === null ? NOT_RUN : { ...run, value: current },
    other: second === undefined ? null : { ...other, value: other.pending ? null : other.value },
  };
}
