/** Reports that earlier runs wrote. */
import { readFile } from 'node:fs/promises';
import { reportRefusal } from '@lowbit-kv/harness';

/** `parse` reads JSON of the kind that is wanted. Throws OPTION_INVALID. */
export async function readReport<Report>(
  file: string,
  parse: (content: unknown, file: string) => Report,
): Promise<Report> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const next = 'Check the path and the content.';
    throw reportRefusal(file, `the report cannot be read: ${reason}`, next, { cause });
  }
  return parse(content, file);
}
