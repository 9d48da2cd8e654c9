/**
 * Writes a scheme file. The path is checked before anything is measured: tuning takes minutes.
 */
import { constants } from 'node:fs';
import { access, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { SchemeFile } from '@lowbit-kv/harness';

/** Throws OPTION_INVALID for a path that `--scheme` would not read, that cannot be written, or that holds something else. */
export async function checkSchemePath(path: string): Promise<void> {
  if (!path.endsWith('.json'))
    throw refusal(path, 'a path that ends in .json, as --scheme reads it', 'Add .json to it.');
  try {
    await access(dirname(path), constants.W_OK);
  } catch (cause) {
    throw notWritable(path, cause);
  }
  const there = await stat(path).catch(() => null);
  if (there !== null && !(there.isFile() && (await isSchemeFile(path))))
    throw refusal(
      path,
      'a new file, or one that `lowbit-kv tune` wrote',
      'Choose another path: this one holds something else.',
    );
}

/** Whole or not at all. Throws OPTION_INVALID. */
export async function writeSchemeFile(path: string, content: SchemeFile): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(beside, `${JSON.stringify(content, null, 2)}\n`);
    await rename(beside, path);
  } catch (cause) {
    await rm(beside, { force: true });
    throw notWritable(path, cause);
  }
}

async function isSchemeFile(path: string): Promise<boolean> {
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'));
    return typeof content === 'object' && content !== null && 'schemeFile' in content;
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
