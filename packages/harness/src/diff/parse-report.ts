/** Reports from files: which kind, and whether this version reads it. */
import { formatValue, hasProtoMember, LowbitKvError } from '@lowbit-kv/core';
import type * as z from 'zod';
import { type BenchReport, benchReportSchema } from '../bench/report.js';
import { evalReportSchema } from '../eval/report.js';
import type { JudgedReport } from '../gate/report-figures.js';
import { compareReportSchema } from '../report.js';

const VERSION = 1;

interface Kind<Report> {
  readonly valid: string;
  readonly schemaOf: (fields: object) => z.ZodType<Report> | null;
}

const JUDGED: Kind<JudgedReport> = {
  valid: `a report of \`compare --json\` or \`eval --json\`, reportVersion ${VERSION}`,
  schemaOf(fields) {
    if ('capture' in fields && 'replay' in fields) return compareReportSchema;
    return 'windows' in fields && 'text' in fields ? evalReportSchema : null;
  },
};

const BENCH: Kind<BenchReport> = {
  valid: `a report of \`bench --json\`, reportVersion ${VERSION}`,
  schemaOf: (fields) => ('kind' in fields && fields.kind === 'bench' ? benchReportSchema : null),
};

/** `content` is parsed JSON, `file` is for messages. Throws OPTION_INVALID for anything but a report of this version. */
export function parseReport(content: unknown, file: string): JudgedReport {
  return parse(JUDGED, content, file);
}

/** As `parseReport`, for a benchmark. */
export function parseBenchReport(content: unknown, file: string): BenchReport {
  return parse(BENCH, content, file);
}

function parse<Report>({ valid, schemaOf }: Kind<Report>, content: unknown, file: string): Report {
  const refuse = (message: string, next: string): never => {
    throw reportRefusal(file, message, next, { valid });
  };
  const fields = typeof content === 'object' && content !== null ? content : {};
  if (!('reportVersion' in fields))
    return refuse('this is no report', 'Give a file that --json wrote.');
  const schema = schemaOf(fields);
  if (schema === null) return refuse('this is a report of another command', `Give ${valid}.`);
  if (fields.reportVersion !== VERSION) {
    return refuse(
      `this report has reportVersion ${formatValue(fields.reportVersion)}`,
      'Measure again with this version, or compare with the version that wrote it.',
    );
  }
  const { success, data, error } = schema.safeParse(content);
  if (success && !hasProtoMember(content)) return data;
  const issue = error?.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'report' : issue.path.join('.');
  return refuse(
    `this report is damaged: ${place}: ${issue?.message ?? 'a member is called __proto__'}`,
    'Measure again with --json; edited reports are not read.',
  );
}

/** Of a file that should hold a report. */
export function reportRefusal(
  file: string,
  message: string,
  next: string,
  { valid = 'a report that --json wrote', cause }: { valid?: string; cause?: unknown } = {},
): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', { message, value: file, valid, next, cause });
}
