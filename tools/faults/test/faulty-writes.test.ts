// Everything that writes files, with a full disk, a broken one, or the end of everything at any call: what is there is the old or
// the new, and the error says what and what to do.
import { mkdtempSync, rmSync } from 'node:fs';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { afterAll, describe, expect, it } from 'vitest';
import { FaultyFiles, type FileFault } from '../src/faulty-files.js';
import { contentsOf, isUnfinished, openWriters, type Writer } from '../src/writers.js';

/** Of a writer: each is tried out in a folder of its own. */
const MOST_CALLS = Number(process.env.LOWBIT_KV_CALLS ?? 10);

const { writers, close } = await openWriters();
const root = mkdtempSync(join(tmpdir(), 'lowbit-kv-faults-'));
afterAll(async () => {
  await close();
  rmSync(root, { recursive: true, force: true });
});

let number = 0;
let faults = 0;
afterAll(() => {
  process.stderr.write(`faults of files: ${faults}\n`);
});
async function emptyFolder(): Promise<string> {
  const folder = join(root, `${number++}`);
  await mkdir(folder);
  return folder;
}

/** A folder with version 0, a copy of it in which version 1 was written, and the calls of that. */
async function versions(writer: Writer) {
  const before = await emptyFolder();
  await writer.write(before, 0);
  const after = await emptyFolder();
  await cp(before, after, { recursive: true });
  const { outcome, calls } = await FaultyFiles.run(undefined, () => writer.write(after, 1));
  expect(outcome.kind).toBe('done');
  return { before, old: await contentsOf(before), new: await contentsOf(after), calls };
}

describe.each(writers)('$name', (writer) => {
  it.each(['ENOSPC', 'end'] as const)('%s at any call', async (kind) => {
    const { before, calls, ...version } = await versions(writer);
    expect(calls).toContain('rename');
    expect([...version.new]).not.toEqual([...version.old]);
    const firstRename = calls.indexOf('rename');
    for (const call of chosenCalls(calls)) {
      const folder = await emptyFolder();
      await cp(before, folder, { recursive: true });
      const fault: FileFault = { call, kind };
      faults++;
      const { outcome } = await FaultyFiles.run(fault, () => writer.write(folder, 1));
      const where = `${kind} at call ${call}, ${calls[call]}`;
      // Where nothing has its name yet, nothing has changed.
      const found = await contentsOf(folder);
      if (call <= firstRename && writer.name !== 'a model from the hub')
        expect(found, where).toEqual(version.old);
      for (const [path, content] of found)
        expect([version.old.get(path), version.new.get(path)], `${where}: ${path}`).toContain(
          content,
        );
      for (const path of version.old.keys()) expect([...found.keys()], where).toContain(path);
      if (kind === 'ENOSPC') expectTold(outcome, where);
      if (kind === 'ENOSPC' && writer.name !== 'a model from the hub')
        expect(await unfinishedIn(folder), where).toEqual([]);
      await writer.write(folder, 1);
      expect(await contentsOf(folder), `${where}, and once more`).toEqual(version.new);
    }
  });
});

/** All, or of many those that are the first of their kind, the last one, and some between. */
function chosenCalls(calls: readonly string[]): number[] {
  const step = Math.ceil(calls.length / MOST_CALLS);
  return [...calls.keys()].filter(
    (call) =>
      call % step === 0 ||
      calls.indexOf(calls[call] as string) === call ||
      call === calls.length - 1,
  );
}

type Outcome = Awaited<ReturnType<typeof FaultyFiles.run>>['outcome'];

/** What was not written, why, and what to do. */
function expectTold(outcome: Outcome, where: string): void {
  // A fault while something unfinished is removed, or closed after it was written, is nobody's.
  if (outcome.kind === 'done') return;
  expect(outcome.kind, where).toBe('error');
  if (outcome.kind !== 'error') return;
  const { error } = outcome;
  const text = String(error);
  expect(text, where).toMatch(/FILE_NOT_WRITTEN|MODEL_DOWNLOAD|OPTION_INVALID/);
  expect(text, where).toMatch(/ENOSPC/);
  expect(text, where).toMatch(/[Mm]ake room|Choose another/);
  if (LowbitKvError.is(error)) expect(error.cause, where).toBeDefined();
}

async function unfinishedIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter(isUnfinished);
}
