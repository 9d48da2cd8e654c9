/**
 * Writes a report in every format into a folder. Each file is there whole or not at all, and none is replaced before all are
 * written.
 */
import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { writeTogether } from '@lowbit-kv/harness';
import { renderCsv } from './csv.js';
import { withoutHome } from './home-paths.js';
import { renderMarkdown } from './markdown.js';
import { renderPage } from './page/page.js';
import type { AnyReport, ReportContext } from './report-kind.js';

/** In the order in which they are written. */
export const REPORT_FILES = ['report.json', 'report.csv', 'report.md', 'report.html'] as const;

/** Makes the folder when it is missing. Throws OPTION_INVALID when files cannot be written to it. */
export async function checkReportFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw notWritable(folder, cause);
  }
  for (const name of REPORT_FILES) {
    const there = await stat(join(folder, name)).catch(() => null);
    if (there?.isDirectory()) throw notWritable(folder, new Error(`${name} is a folder`));
  }
}

/**
 * Writes `REPORT_FILES`, replaces those that are there, and returns their paths. Home folders become `~` in all of them.
 * Throws OPTION_INVALID for a folder that cannot be written to, and FILE_NOT_WRITTEN.
 */
export async function writeReportFiles(
  folder: string,
  report: AnyReport,
  context: ReportContext = {},
): Promise<string[]> {
  const shown = withoutHome(report);
  const said = withoutHome(context);
  const content: Record<(typeof REPORT_FILES)[number], string> = {
    'report.json': `${JSON.stringify(shown, null, 2)}\n`,
    'report.csv': renderCsv(shown),
    'report.md': renderMarkdown(shown, said),
    'report.html': renderPage(shown, said),
  };
  await checkReportFolder(folder);
  const files = REPORT_FILES.map((name) => [join(folder, name), content[name]] as const);
  await writeTogether(files);
  return files.map(([path]) => path);
}

function notWritable(folder: string, cause: unknown): LowbitKvError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LowbitKvError('OPTION_INVALID', {
    message: 'the files of a report cannot be written',
    value: folder,
    valid: 'a folder that may be written to; it is made when it is missing',
    next: `Choose another folder (${reason}).`,
    where: { field: 'out' },
    cause,
  });
}
