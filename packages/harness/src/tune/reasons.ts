/** Reasons as lines of text: each once, after what it holds for. */
import type { LeftOut } from './candidates.js';

/** One line per reason. */
export function byReason(
  entries: readonly { readonly id: string; readonly reason: string }[],
): string[] {
  const ids = new Map<string, string[]>();
  for (const { id, reason } of entries) ids.set(reason, [...(ids.get(reason) ?? []), id]);
  return [...ids].map(([reason, names]) => `${names.join(', ')}: ${reason}`);
}

/** Presets that give no candidate for one tensor or for both. */
export function leftOutTexts(leftOut: readonly LeftOut[]): string[] {
  return byReason(
    leftOut.map(({ preset, tensor, reason }) => ({ id: `${tensor}s of ${preset}`, reason })),
  );
}
