/**
 * Reads `--geometry`: JSON on the command line, or a file of JSON.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Geometry, LowbitKvError, resolveGeometry } from '@lowbit-kv/core';

/** Throws GEOMETRY_INVALID. */
export async function readGeometry(text: string, directory: string): Promise<Geometry> {
  const inline = text.trimStart().startsWith('{');
  let geometry: Geometry;
  try {
    geometry = JSON.parse(inline ? text : await readFile(resolve(directory, text), 'utf8'));
  } catch (cause) {
    throw new LowbitKvError('GEOMETRY_INVALID', {
      message: 'the geometry cannot be read',
      value: text,
      valid:
        '{"layers": ..., "queryHeads": ..., "kvHeads": ..., "keyHeadDim": ..., "valueHeadDim": ...}, or a file of it',
      next: `${cause instanceof Error ? cause.message : String(cause)}.`,
      cause,
    });
  }
  resolveGeometry(geometry);
  return geometry;
}
