/**
 * Reading pages of a store, with the one check that protects what is made of them: their size.
 */
import type { BlockStore, PageKind } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { LayerUnit } from '../plan/model-layers.js';
import type { TensorPlan } from '../plan/plan.js';

/** Bytes of one page. */
export function pageBytes(tensor: TensorPlan, kind: PageKind): number {
  if (kind === 'packed') return tensor.layout?.pageBytes ?? 0;
  return kind === 'window' ? tensor.windowPageBytes : tensor.statisticsPageBytes;
}

/** Canonical bytes of whole pages. Throws BACKEND_FAILED when the store gives another number of bytes. */
export async function readPages(
  store: BlockStore,
  { index, plan }: LayerUnit,
  tensor: 'key' | 'value',
  kind: PageKind,
  pages: readonly number[],
): Promise<Uint8Array> {
  const bytes = await store.readPages({ layer: index, tensor, kind, pages });
  const expected = pages.length * pageBytes(plan[tensor], kind);
  if (bytes.length === expected) return bytes;
  throw new LowbitKvError('BACKEND_FAILED', {
    message: `the backend gave ${kind} pages of the wrong size`,
    value: bytes.length,
    valid: `${expected} bytes`,
    next: 'Report it to the authors of the backend.',
    where: { tensor, layer: plan.layer },
  });
}
