/**
 * The header of a snapshot, and what its payload has where (docs/block-format.md 13).
 */
import * as z from 'zod';
import type { PageKind } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { LayerPlan, Plan } from '../plan/plan.js';
import { pageBytes } from './read-pages.js';

const index = z.int().min(0);
const entrySchema = z.strictObject({
  kind: z.literal(['packed', 'window']),
  page: index,
  slot: index,
  count: z.int().min(1),
  position: index,
});
const headerSchema = z.strictObject({
  fingerprint: z.string(),
  scheme: z.string(),
  /** Pages per class; page numbers in entries count within the container. */
  pages: z.array(
    z.strictObject({ packed: z.array(z.int().min(1)), window: index, statistics: index }),
  ),
  sequences: z.array(
    z.strictObject({
      length: index,
      states: z.array(
        z.strictObject({ entries: z.array(entrySchema), statistics: z.int().min(-1) }),
      ),
    }),
  ),
});
/** What a snapshot says of its sequences and pages (docs/block-format.md 13). */
export type SnapshotHeader = z.infer<typeof headerSchema>;
/** Of one class. */
export type PageCounts = SnapshotHeader['pages'][number];

/** In the order of the payload. */
export const PAGE_KINDS: readonly PageKind[] = ['packed', 'window', 'statistics'];

/** The header from its bytes. Throws SNAPSHOT_INVALID. */
export function parseSnapshotHeader(bytes: Uint8Array): SnapshotHeader {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    invalidSnapshot('the header is not JSON', String(cause), 'JSON text');
  }
  const parsed = headerSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return invalidSnapshot('the header is malformed', issue?.path.join('.'), issue?.message ?? '');
}

/** Pages of one kind of one tensor, one after another in the payload. */
export interface SnapshotSection {
  readonly unit: LayerPlan;
  readonly tensor: 'key' | 'value';
  readonly kind: PageKind;
  /** Bytes from the start of the payload. */
  readonly offset: number;
  readonly pages: number;
  readonly pageBytes: number;
}

/** Where the payload of a snapshot of this plan has what, in order; sections without pages are left out. */
export function snapshotSections(header: SnapshotHeader, plan: Plan): SnapshotSection[] {
  const sections: SnapshotSection[] = [];
  let offset = 0;
  for (const unit of plan.layers) {
    for (const tensor of ['key', 'value'] as const) {
      const counts = header.pages[unit[tensor].class] as PageCounts;
      for (const kind of PAGE_KINDS) {
        const size = pageBytes(unit[tensor], kind);
        const pages = pageCount(counts, kind);
        if (pages > 0) sections.push({ unit, tensor, kind, offset, pages, pageBytes: size });
        offset += pages * size;
      }
    }
  }
  return sections;
}

export function pageCount(counts: PageCounts, kind: PageKind): number {
  return kind === 'packed' ? counts.packed.length : counts[kind];
}

export function invalidSnapshot(message: string, value: unknown, valid: string): never {
  throw new LowbitKvError('SNAPSHOT_INVALID', {
    message,
    value,
    valid,
    next: 'Take the snapshot again; this one cannot be restored.',
  });
}
