/** Something that is computed asynchronously from inputs; the last result stays until the next is there. */
import { LowbitKvError } from '@lowbit-kv/core';
import { useEffect, useState } from 'preact/hooks';

export interface Resource<T> {
  /** Of these inputs, or while pending still of the ones before. */
  readonly value: T | null;
  /** Why there is no value. */
  readonly fault: string | null;
  readonly pending: boolean;
}

interface Held<T> {
  readonly inputs: readonly unknown[] | null;
  readonly value: T | null;
  readonly fault: string | null;
}

/** `inputs` decide when to ask again. `make` gives null while something it needs is missing; its signal says when nobody waits. */
export function useResource<T>(
  make: (signal: AbortSignal) => Promise<T> | null,
  inputs: readonly unknown[],
): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ inputs: null, value: null, fault: null });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const hold = (value: T | null, fault: string | null) => {
      if (!signal.aborted) setHeld({ inputs, value, fault });
    };
    const work = make(signal);
    if (work === null) hold(null, null);
    else
      work.then(
        (value) => hold(value, null),
        (error) => hold(null, faultText(error)),
      );
    return () => controller.abort();
  }, inputs);
  const pending = held.inputs === null || held.inputs.some((input, i) => input !== inputs[i]);
  return { value: held.value, fault: pending ? null : held.fault, pending };
}

/** Errors of ours say what to do; others are shown as they are. */
function faultText(error: unknown): string {
  if (LowbitKvError.is(error)) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
