/**
 * Files that commands write. The path is checked before anything is measured: that takes minutes.
 */
import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { writeWhole } from '@lowbit-kv/harness';

/** What a command writes. */
export interface OutKind {
  /** For messages, such as `a file that lowbit-kv tune wrote`. */
  readonly what: string;
  readonly extension: `.${string}`;
  /** Whether a file that is there is of this kind, and may be replaced. */
  readonly holds: (path: string) => Promise<boolean>;
}

/** Throws OPTION_INVALID for a path that cannot be written, or that holds something else. */
export async function checkOut(path: string, { what, extension, holds }: OutKind): Promise<void> {
  if (!path.endsWith(extension))
    throw refusal(path, `a path that ends in ${extension}`, `Add ${extension} to it.`);
  const folder = dirname(path);
  try {
    if (!(await stat(folder)).isDirectory()) throw new Error(`${folder} is no folder`);
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw notWritable(path, cause);
  }
  const there = await stat(path).catch(() => null);
  if (there !== null && !(there.isFile() && (await holds(path))))
    throw refusal(
      path,
      `a new file, or ${what}`,
      'Choose another path: this one holds something else.',
    );
}

/** Whole or not at all. Throws FILE_NOT_WRITTEN. */
export async function writeJson(path: string, content: unknown): Promise<void> {
  await writeWhole(path, `${JSON.stringify(content, null, 2)}\n`);
}

/** Whether a file is JSON that satisfies `test`. */
export async function holdsJson(
  path: string,
  test: (content: unknown) => boolean,
): Promise<boolean> {
  try {
    return test(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return false;
  }
}

function notWritable(path: string, cause: unknown): LowbitKvError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return refusal(
    path,
    'a file in a folder that exists and may be written to',
    `Choose another path (${reason}).`,
    cause,
  );
}

function refusal(path: string, valid: string, next: string, cause?: unknown): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: '--out cannot be written',
    value: path,
    valid,
    next,
    where: { field: 'out' },
    cause,
  });
}
