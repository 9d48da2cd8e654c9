/**
 * A checker for the part of JSON Schema (draft 2020-12) that the schema of schemes uses. An unknown keyword throws, so
 * that nothing is silently accepted.
 */
type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS = new Set(['$schema', 'description', 'title', 'default', 'readOnly', '$defs']);

export function matchesJsonSchema(schema: Schema, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, rule]) => {
    if (ANNOTATIONS.has(keyword)) return true;
    const check = KEYWORDS[keyword];
    if (check === undefined) throw new Error(`unknown keyword ${keyword}`);
    return check(rule as never, value, schema);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

type Check = (rule: never, value: unknown, schema: Schema) => boolean;

const KEYWORDS: Readonly<Record<string, Check>> = {
  type: (rule: string, value) => (TYPES[rule] as (typeof TYPES)[string])(value),
  const: (rule: unknown, value) => rule === value,
  enum: (rule: unknown[], value) => rule.includes(value),
  anyOf: (rule: Schema[], value) => rule.some((option) => matchesJsonSchema(option, value)),
  oneOf: (rule: Schema[], value) =>
    rule.filter((option) => matchesJsonSchema(option, value)).length === 1,
  allOf: (rule: Schema[], value) => rule.every((option) => matchesJsonSchema(option, value)),
  properties: (rule: Record<string, Schema>, value) =>
    !isObject(value) ||
    Object.entries(rule).every(
      ([name, part]) => !(name in value) || matchesJsonSchema(part, value[name]),
    ),
  required: (rule: string[], value) => !isObject(value) || rule.every((name) => name in value),
  additionalProperties: (rule: Schema | boolean, value, schema) => {
    if (!isObject(value) || rule === true) return true;
    const known = Object.keys((schema.properties ?? {}) as object);
    const extra = Object.keys(value).filter((name) => !known.includes(name));
    return extra.every((name) => rule !== false && matchesJsonSchema(rule, value[name]));
  },
  items: (rule: Schema | false, value, schema) => {
    const first = ((schema.prefixItems ?? []) as Schema[]).length;
    if (!Array.isArray(value)) return true;
    return value.slice(first).every((item) => rule !== false && matchesJsonSchema(rule, item));
  },
  prefixItems: (rule: Schema[], value) =>
    !Array.isArray(value) ||
    rule.every((part, i) => i >= value.length || matchesJsonSchema(part, value[i])),
  minItems: (rule: number, value) => !Array.isArray(value) || value.length >= rule,
  maxItems: (rule: number, value) => !Array.isArray(value) || value.length <= rule,
  minimum: (rule: number, value) => typeof value !== 'number' || value >= rule,
  maximum: (rule: number, value) => typeof value !== 'number' || value <= rule,
  exclusiveMinimum: (rule: number, value) => typeof value !== 'number' || value > rule,
  minLength: (rule: number, value) => typeof value !== 'string' || value.length >= rule,
  maxLength: (rule: number, value) => typeof value !== 'string' || value.length <= rule,
  pattern: (rule: string, value) => typeof value !== 'string' || new RegExp(rule).test(value),
};
