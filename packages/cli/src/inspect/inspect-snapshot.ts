/**
 * What a snapshot holds: its header at once, its pages where the plan is known.
 */
import { createHash } from 'node:crypto';
import {
  LowbitKvError,
  type Plan,
  parseSnapshotHeader,
  SNAPSHOT_VERSION,
  type SnapshotHeader,
  type SnapshotSection,
  snapshotSections,
} from '@lowbit-kv/core';
import type { InspectedFile } from './open-file.js';

const PREFIX = 12;
const CHECKSUM = 32;
/** Longer files are not read whole for their checksum. */
const CHECKED_BYTES = 256e6;
/** A longer header is a damaged length, not one of ours. */
const LONGEST_HEADER = 256e6;
const CHUNK = 1 << 20;

export interface OpenedSnapshot {
  readonly version: number;
  readonly header: SnapshotHeader;
  readonly headerBytes: number;
  readonly payloadOffset: number;
  readonly payloadBytes: number;
  /** Null where the file is too long to be read whole. */
  readonly checksum: 'matches' | null;
}

/** Throws SNAPSHOT_INVALID with the offset of what is wrong. */
export async function openSnapshot(file: InspectedFile): Promise<OpenedSnapshot> {
  if (file.size < PREFIX + CHECKSUM)
    throw damaged(
      file,
      'the file is too short',
      file.size,
      `at least ${PREFIX + CHECKSUM} bytes`,
      0,
    );
  const prefix = await file.read(0, PREFIX);
  const view = new DataView(prefix.buffer, prefix.byteOffset, PREFIX);
  const version = view.getUint32(4, true);
  if (version !== SNAPSHOT_VERSION)
    throw damaged(file, 'unknown snapshot version', version, String(SNAPSHOT_VERSION), 4);
  const headerBytes = view.getUint32(8, true);
  const payloadOffset = PREFIX + headerBytes;
  const end = file.size - CHECKSUM;
  const longest = Math.min(end - PREFIX, LONGEST_HEADER);
  if (headerBytes > longest)
    throw damaged(file, 'the header is longer than the file', headerBytes, `at most ${longest}`, 8);
  let header: SnapshotHeader;
  try {
    header = parseSnapshotHeader(await file.read(PREFIX, headerBytes));
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    throw damaged(file, error.summary, error.value, String(error.valid), PREFIX);
  }
  const payloadBytes = end - payloadOffset;
  return {
    version,
    header,
    headerBytes,
    payloadOffset,
    payloadBytes,
    checksum: await check(file, end),
  };
}

/** Sections with offsets in the file. Throws SNAPSHOT_MISMATCH for another plan, SNAPSHOT_INVALID for a wrong size. */
export function sectionsOf(
  file: InspectedFile,
  opened: OpenedSnapshot,
  plan: Plan,
): SnapshotSection[] {
  const { header, payloadOffset, payloadBytes } = opened;
  if (header.fingerprint !== plan.fingerprint || header.pages.length !== plan.classes.length) {
    throw new LowbitKvError('SNAPSHOT_MISMATCH', {
      message: 'the snapshot was taken with another plan',
      value: header.fingerprint,
      valid: `${plan.fingerprint}, of ${plan.scheme.id} with this geometry`,
      next: 'Give the very scheme, --geometry, --calibration and --block-tokens of the cache.',
      where: { file: file.path },
    });
  }
  const sections = snapshotSections(header, plan);
  const last = sections.at(-1);
  const expected = last === undefined ? 0 : last.offset + last.pages * last.pageBytes;
  if (payloadBytes !== expected)
    throw damaged(
      file,
      'the payload has the wrong size',
      payloadBytes,
      `${expected} bytes`,
      payloadOffset,
    );
  return sections.map((section) => ({ ...section, offset: payloadOffset + section.offset }));
}

async function check(file: InspectedFile, end: number): Promise<'matches' | null> {
  if (file.size > CHECKED_BYTES) return null;
  const hash = createHash('sha256');
  for (let at = 0; at < end; at += CHUNK)
    hash.update(await file.read(at, Math.min(CHUNK, end - at)));
  const stored = Buffer.from(await file.read(end, CHECKSUM)).toString('hex');
  const found = hash.digest('hex');
  if (stored === found) return 'matches';
  throw damaged(
    file,
    'the checksum does not match: bytes before it were changed or cut',
    stored,
    found,
    end,
  );
}

function damaged(
  { path }: InspectedFile,
  message: string,
  value: unknown,
  valid: string,
  offset: number,
): LowbitKvError {
  return new LowbitKvError('SNAPSHOT_INVALID', {
    message,
    value,
    valid,
    next: 'Take the snapshot again, or fetch the file again.',
    where: { file: path, offset },
  });
}
