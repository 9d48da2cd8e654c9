/**
 * Reads a scheme from JSON.
 */
import { readFile } from 'node:fs/promises';
import { LowbitKvError } from '@lowbit-kv/core';
import { parseSchemeFile } from '@lowbit-kv/harness';
import type { NamedScheme } from './builtin-schemes.js';

/** Throws SCHEME_NOT_FOUND when the file is no JSON, and what parsing its content throws. */
export async function readSchemeFile(path: string): Promise<NamedScheme> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new LowbitKvError('SCHEME_NOT_FOUND', {
      message: 'the file of a scheme cannot be read',
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'JSON: what `lowbit-kv tune` writes, or the data of a scheme',
      next: 'Check the path and the content.',
      where: { file: path },
      cause,
    });
  }
  const { scheme, calibration } = parseSchemeFile(content);
  return { scheme, source: path, ...(calibration === undefined ? {} : { calibration }) };
}
