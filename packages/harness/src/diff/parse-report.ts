/** Reports from files: which kind, and whether this version reads it. */
import { formatValue, hasProtoMember, LowbitKvError } from '@lowbit-kv/core';
import type * as z from 'zod';
import { evalReportSchema } from '../eval/report.js';
import type { JudgedReport } from '../gate/report-figures.js';
import { compareReportSchema } from '../report.js';

const VERSION = 1;
const VALID = `a report of \`compare --json\` or \`eval --json\`, reportVersion ${VERSION}`;

/** `content` is parsed JSON, `file` is for messages. Throws OPTION_INVALID for anything but a report of this version. */
export function parseReport(content: unknown, file: string): JudgedReport {
  const fields = typeof content === 'object' && content !== null ? content : {};
  if (!('reportVersion' in fields))
    throw reportRefusal(file, 'this is no report', 'Give a file that --json wrote.');
  const schema = schemaOf(fields);
  if (schema === null)
    throw reportRefusal(file, 'this is a report of another command', `Give ${VALID}.`);
  if (fields.reportVersion !== VERSION) {
    const next = 'Measure again with this version, or compare with the version that wrote it.';
    throw reportRefusal(
      file,
      `this report has reportVersion ${formatValue(fields.reportVersion)}`,
      next,
    );
  }
  const { success, data, error } = schema.safeParse(content);
  if (success && !hasProtoMember(content)) return data;
  const issue = error?.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'report' : issue.path.join('.');
  throw reportRefusal(
    file,
    `this report is damaged: ${place}: ${issue?.message ?? 'a member is called __proto__'}`,
    'Measure again with --json; edited reports are not read.',
  );
}

/** Throws OPTION_INVALID. */
export function reportRefusal(
  file: string,
  message: string,
  next: string,
  cause?: unknown,
): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    ...{ message, value: file, valid: VALID, next, cause },
  });
}

function schemaOf(fields: object): z.ZodType<JudgedReport> | null {
  if ('capture' in fields && 'replay' in fields) return compareReportSchema;
  return 'windows' in fields && 'text' in fields ? evalReportSchema : null;
}
