/**
 * The file of a benchmark.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type BenchReport, parseBenchReport } from '@lowbit-kv/harness';
import { checkReportFolder } from '@lowbit-kv/report';
import { checkOut, holdsJson, writeJson } from '../out-file.js';
import type { Terminal } from '../terminal.js';

/**
 * A `.json` file as it is; anything else is a folder, made when it is missing, for a file named after the time, and apart
 * from those of other processes that begin at the same one. Throws OPTION_INVALID for what cannot be written, and for a file that is no benchmark.
 */
export async function benchPath(path: string, now: Date = new Date()): Promise<string> {
  if (path.endsWith('.json')) {
    await checkOut(path, { what: 'a file that lowbit-kv bench wrote', extension: '.json', holds });
    return path;
  }
  await checkReportFolder(path);
  const time = now.toISOString().slice(0, 19).replaceAll(':', '-');
  return join(path, `bench-${time}-${randomUUID().slice(0, 8)}.json`);
}

/** Says on stderr what it wrote. Throws FILE_NOT_WRITTEN. */
export async function writeBench(
  terminal: Terminal,
  path: string,
  report: BenchReport,
): Promise<void> {
  await writeJson(path, report);
  terminal.note(`Written: ${path}`);
}

function holds(path: string): Promise<boolean> {
  return holdsJson(path, (content) => {
    parseBenchReport(content, path);
    return true;
  });
}
