/**
 * Everything that is stored of a sequence, to compare before and after.
 */
import type { Cache } from '../cache/cache.js';
import type { Sequence } from '../cache/sequence.js';
import { modelLayers } from '../plan/model-layers.js';
import { ensureEqual, ensureSame } from './check.js';

export interface Contents {
  readonly length: number;
  /** Decoded keys and values, and the bytes of every block behind its position and valid tokens. */
  readonly parts: readonly { readonly name: string; readonly data: ArrayLike<number> }[];
}

export async function contents(cache: Cache, sequence: Sequence): Promise<Contents> {
  const parts: { name: string; data: ArrayLike<number> }[] = [];
  for (const { layer } of modelLayers(cache.plan)) {
    const { key, value } = await cache.materialize(sequence, layer);
    parts.push({ name: `keys of layer ${layer}`, data: key.data });
    parts.push({ name: `values of layer ${layer}`, data: value.data });
    for (const tensor of ['key', 'value'] as const) {
      for (const block of await cache.exportBlocks(sequence, layer, tensor)) {
        const name = `${tensor} block at ${block.position} of heads ${block.heads} of layer ${layer}, ${block.validTokens} tokens`;
        parts.push({ name, data: block.bytes });
      }
    }
  }
  return { length: sequence.length, parts };
}

export function ensureSameContents(actual: Contents, expected: Contents, what: string): void {
  ensureEqual(actual.length, expected.length, `${what}: length`);
  ensureEqual(
    actual.parts.map(({ name }) => name),
    expected.parts.map(({ name }) => name),
    `${what}: parts`,
  );
  for (const [i, { name, data }] of expected.parts.entries())
    ensureSame(actual.parts[i]?.data ?? [], data, `${what}: ${name}`);
}
