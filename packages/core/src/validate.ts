/**
 * Turns a zod failure into a LowbitKvError that names the field, its value and what would be valid.
 */
import type * as z from 'zod';
import { type ErrorCode, LowbitKvError } from './errors.js';
import { suggestion } from './suggest.js';

/** Parses `value` or throws `code` for one issue: the first, or the misspelt field behind a missing one. */
export function parseOrThrow<T>(
  schema: z.ZodType<T>,
  value: unknown,
  code: ErrorCode,
  what: string,
  next: string,
): T {
  const result = schema.safeParse(value);
  if (result.success && !hasProtoMember(value)) return result.data;
  const problem: Problem = result.success
    ? { path: ['__proto__'], message: 'is not a known field', valid: 'other names' }
    : problemOf(result.error.issues, schema, value, []);
  const path = formatPath(problem.path);
  throw new LowbitKvError(code, {
    message: `${what}: ${path === '' ? 'it' : path} ${problem.message}`,
    value: valueAt(value, problem.path),
    valid: problem.valid,
    next: problem.suggestion === undefined ? next : `${problem.suggestion} ${next}`,
    where: path === '' ? {} : { field: path },
  });
}

/**
 * Whether plain data have a member of their own that is called `__proto__`: JSON can, and schemas of records drop it in
 * silence.
 */
export function hasProtoMember(value: unknown): boolean {
  const seen = new Set<unknown>();
  const open = [value];
  while (open.length > 0) {
    const at = open.pop();
    if (typeof at !== 'object' || at === null || seen.has(at)) continue;
    seen.add(at);
    const prototype = Object.getPrototypeOf(at);
    if (!Array.isArray(at) && prototype !== Object.prototype && prototype !== null) continue;
    if (Object.hasOwn(at, '__proto__')) return true;
    for (const member of Object.values(at)) if (typeof member === 'object') open.push(member);
  }
  return false;
}

type Path = readonly PropertyKey[];

interface Problem {
  readonly path: Path;
  readonly message: string;
  readonly valid: string | readonly unknown[];
  readonly suggestion?: string | undefined;
}

function problemOf(
  issues: readonly z.core.$ZodIssue[],
  schema: z.core.$ZodType,
  root: unknown,
  prefix: Path,
): Problem {
  const first = issues[0];
  if (first === undefined) return { path: prefix, message: 'is not valid', valid: 'another value' };
  const missing = valueAt(root, [...prefix, ...first.path]) === undefined;
  const misspelt = missing && issues.find((issue) => issue.code === 'unrecognized_keys');
  return describe(misspelt || first, schema, root, prefix);
}

function describe(
  issue: z.core.$ZodIssue,
  schema: z.core.$ZodType,
  root: unknown,
  prefix: Path,
): Problem {
  const path = [...prefix, ...issue.path];
  const value = valueAt(root, path);
  const message = value === undefined ? 'is missing' : 'is not valid';
  const oneOf = (values: readonly unknown[]): Problem => ({
    path,
    message,
    valid: values,
    suggestion: suggestion(value, values),
  });
  switch (issue.code) {
    case 'unrecognized_keys': {
      const key = issue.keys[0] as string;
      const known = fieldsAt(schema, root, path);
      return {
        path: [...path, key],
        message: 'is not a known field',
        valid: known,
        suggestion: suggestion(key, known),
      };
    }
    case 'invalid_union': {
      const { options } = issue as { readonly options?: readonly unknown[] };
      if (options !== undefined) return oneOf(options);
      return closestBranch(issue, schema, root, path);
    }
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_type':
      return { path, message, valid: typeText(issue.expected) };
    case 'too_small':
      return { path, message, valid: sizeText(issue, issue.minimum, 'at least', 'more than') };
    case 'too_big':
      return { path, message, valid: sizeText(issue, issue.maximum, 'at most', 'less than') };
    default:
      return { path, message, valid: issue.message };
  }
}

/** Of a union's branches, the one whose failure lies deepest: it is the one that was meant. */
function closestBranch(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.core.$ZodType,
  root: unknown,
  path: Path,
): Problem {
  const branches = issue.errors
    .filter((errors) => errors.length > 0)
    .map((errors) => problemOf(errors, schema, root, path));
  const deepest = branches.reduce<Problem | undefined>(
    (best, branch) => (branch.path.length > (best?.path.length ?? path.length) ? branch : best),
    undefined,
  );
  if (deepest !== undefined) return deepest;
  const valid = branches.flatMap((branch) => branch.valid);
  return {
    path,
    message: valueAt(root, path) === undefined ? 'is missing' : 'is not valid',
    valid,
    suggestion: suggestion(valueAt(root, path), valid),
  };
}

const TYPE_TEXT: Readonly<Record<string, string>> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
};

function typeText(expected: string): string {
  return TYPE_TEXT[expected] ?? `a ${expected}`;
}

function sizeText(
  issue: { readonly origin: string; readonly inclusive?: boolean | undefined },
  limit: number | bigint,
  inclusive: string,
  exclusive: string,
): string {
  const text = `${issue.inclusive === false ? exclusive : inclusive} ${limit}`;
  if (issue.origin === 'string') return `${text} characters`;
  return issue.origin === 'array' ? `${text} entries` : text;
}

/** Names of the fields an object at `path` may have. */
function fieldsAt(schema: z.core.$ZodType, root: unknown, path: Path): string[] {
  let at = optionFor(schema, root);
  let value = root;
  for (const part of path) {
    value = valueAt(value, [part]);
    const { def } = at._zod as unknown as { def: Definition };
    const inner = def.shape?.[String(part)] ?? def.element ?? def.items?.[Number(part)];
    if (inner === undefined) return [];
    at = optionFor(inner, value);
  }
  return Object.keys((at._zod as unknown as { def: Definition }).def.shape ?? {});
}

/** The parts of zod's definitions that lead from an object to its fields. */
interface Definition {
  readonly innerType?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly items?: readonly z.core.$ZodType[];
  readonly options?: readonly z.core.$ZodType[];
  readonly discriminator?: string;
}

/** Looks through optional and read-only wrappers, and into the branch of a union that fits the value. */
function optionFor(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  const { def } = schema._zod as unknown as { def: Definition };
  if (def.innerType !== undefined) return optionFor(def.innerType, value);
  if (def.options === undefined) return schema;
  const tag = def.discriminator;
  const fits = def.options.find((option) =>
    tag === undefined
      ? 'shape' in option._zod.def
      : option._zod.propValues?.[tag]?.has(valueAt(value, [tag]) as string),
  );
  return fits ?? schema;
}

function formatPath(path: Path): string {
  return path
    .map((part, i) =>
      typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}
