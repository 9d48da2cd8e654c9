// A disk that is really full, and one that may not be written to: small file systems in memory, where this user may mount them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { contentsOf, isUnfinished, openWriters } from '../src/writers.js';

const root = mkdtempSync(join(tmpdir(), 'lowbit-kv-full-'));
const mounted: string[] = [];
const { writers, close } = await openWriters();
afterAll(async () => {
  for (const folder of mounted) spawnSync('umount', [folder]);
  rmSync(root, { recursive: true, force: true });
  await close();
});

/** A new file system of so many KiB; null where it cannot be mounted. */
function smallDisk(kibibytes: number): string | null {
  const folder = join(root, `disk-${mounted.length}`);
  mkdirSync(folder);
  const options = ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder];
  if (spawnSync('mount', options).status !== 0) return null;
  mounted.push(folder);
  return folder;
}

const canMount = smallDisk(64) !== null;

describe(`file systems of this machine${canMount ? '' : ' (this user may not mount them: faulty-writes.test.ts alone)'}`, () => {
  it.runIf(canMount).each(writers)('a full disk: $name', async ({ write }) => {
    const disk = smallDisk(512) as string;
    const folder = join(disk, 'out');
    mkdirSync(folder);
    await write(folder, 0);
    const before = await contentsOf(folder);
    fill(join(disk, 'filler'));
    const error = await write(folder, 1).then(() => null, String);
    expect(error).toMatch(/ENOSPC/);
    expect(error).toMatch(/[Mm]ake room/);
    expect(await contentsOf(folder)).toEqual(before);
    rmSync(join(disk, 'filler'));
    await write(folder, 1);
    expect([...(await contentsOf(folder))]).not.toEqual([...before]);
  });

  it.runIf(canMount).each(writers)('a disk that may only be read: $name', async ({ write }) => {
    const disk = smallDisk(512) as string;
    await write(disk, 0);
    const before = await contentsOf(disk);
    expect(spawnSync('mount', ['-o', 'remount,ro', disk]).status).toBe(0);
    const error = await write(disk, 1).then(() => null, String);
    expect(error).toMatch(/EROFS|read-only/);
    expect(error).toMatch(/[Cc]hoose (a|another) /);
    expect(await contentsOf(disk)).toEqual(before);
    expect([...before.keys()].filter(isUnfinished)).toEqual([]);
  });
});

function fill(path: string): void {
  for (let size = 512 * 1024; size >= 512; size /= 2) {
    try {
      writeFileSync(path, new Uint8Array(size), { flag: 'a' });
    } catch {
      // As far as it goes.
    }
  }
}
