/**
 * Turns a zod failure into a LowbitKvError that names the field, its value and what would be valid.
 */
import type * as z from 'zod';
import { type ErrorCode, LowbitKvError } from './errors.js';

/** Parses `value` or throws `code` for the first issue found. */
export function parseOrThrow<T>(
  schema: z.ZodType<T>,
  value: unknown,
  code: ErrorCode,
  what: string,
  next: string,
): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const issue = deepestIssue(result.error.issues);
  const path = formatPath(issue.path);
  throw new LowbitKvError(code, {
    message: `${what}: ${path === '' ? 'the value' : path} is not valid`,
    value: issue.input ?? valueAt(value, issue.path),
    valid: issue.message,
    next,
    where: path === '' ? {} : { field: path },
  });
}

interface FlatIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input: unknown;
}

/** A failed union hides the useful message in its branches: take the branch whose failure lies deepest. */
function deepestIssue(
  issues: readonly z.core.$ZodIssue[],
  prefix: readonly PropertyKey[] = [],
): FlatIssue {
  const candidates = issues.map((issue): FlatIssue => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      const branches = issue.errors
        .filter((branch) => branch.length > 0)
        .map((branch) => deepestIssue(branch, path));
      const deepest = branches.reduce(
        (a, b) => (b.path.length > a.path.length ? b : a),
        branches[0] as FlatIssue,
      );
      if (deepest !== undefined && deepest.path.length > path.length) return deepest;
      const messages = [...new Set(branches.map((branch) => branch.message))];
      return { path, message: messages.join(' or ') || issue.message, input: issue.input };
    }
    return { path, message: issue.message, input: issue.input };
  });
  return candidates[0] ?? { path: prefix, message: 'invalid', input: undefined };
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) =>
      typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}
