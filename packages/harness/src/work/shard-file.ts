/**
 * Shard files: lines of JSON. First the header, then a line per unit, last the number of units and a SHA-256 of the lines
 * before, so that a copy that was cut short is noticed.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { LowbitKvError } from '@lowbit-kv/core';
import * as z from 'zod';
import { writeWhole } from '../write-whole.js';
import { SHARD_VERSION, type Shard, type ShardHeader, shardHeaderSchema } from './shard.js';
import type { ShardPart } from './shard-part.js';

export interface ShardFile<Kind extends Shard = Shard> {
  /** For messages. */
  readonly file: string;
  readonly shard: Kind;
}

/** Of a shard in its folder, such as `shard-3-of-8.jsonl`. */
export function shardFileName({ index, of }: ShardPart): string {
  return `shard-${index}-of-${of}.jsonl`;
}

/** Whether a file of a folder is one that `shardFileName` named. */
export function isShardFileName(name: string): boolean {
  return /^shard-\d+-of-\d+\.jsonl$/.test(name);
}

/** The file is there whole or not at all. Throws FILE_NOT_WRITTEN. */
export async function writeShardFile(path: string, shard: Shard): Promise<void> {
  await writeWhole(path, linesOf(shard));
}

function* linesOf({ header, units }: Shard): Generator<string> {
  const hash = createHash('sha256');
  const line = (content: unknown) => {
    const text = `${JSON.stringify(content)}\n`;
    hash.update(text);
    return text;
  };
  yield line(header);
  for (const [unit, result] of units) yield line({ unit, result });
  yield `${JSON.stringify({ units: units.size, sha256: hash.digest('hex') })}\n`;
}

const unitLine = z.strictObject({ unit: z.string(), result: z.unknown() });
const lastLine = z.strictObject({ units: z.int(), sha256: z.string() });

/** Throws SHARD_INVALID for anything but a whole shard file of this version. */
export async function readShardFile(path: string): Promise<ShardFile> {
  const refuse = (message: string, value: unknown, next: string, cause?: unknown): never => {
    throw new LowbitKvError('SHARD_INVALID', {
      ...{ message, value, next, cause },
      valid: `a file that --shard wrote, shardVersion ${SHARD_VERSION}`,
      where: { file: path },
    });
  };
  const bytes = await readFile(path).catch((cause: unknown) =>
    refuse('a shard file cannot be read', messageOf(cause), 'Check the path.', cause),
  );
  const again = 'Copy it again, or run the shard again.';
  const lines = textLines(bytes);
  const parse = <T>(schema: z.ZodType<T>, text: string | undefined, what: string): T => {
    try {
      return schema.parse(JSON.parse(text ?? ''));
    } catch (cause) {
      return refuse(`a shard file is damaged: ${what}`, text?.slice(0, 80), again, cause);
    }
  };
  const header = parseHeader(lines[0], refuse);
  const { units: count, sha256 } = parse(lastLine, lines.at(-1), 'its last line is missing');
  const units = new Map<string, unknown>();
  for (const text of lines.slice(1, -1)) {
    const { unit, result } = parse(unitLine, text, 'a line is no unit');
    units.set(unit, result);
  }
  const end = bytes.lastIndexOf(10, bytes.length - 2) + 1;
  const hash = createHash('sha256').update(bytes.subarray(0, end)).digest('hex');
  if (units.size !== count || hash !== sha256)
    refuse('a shard file is damaged: its checksum is wrong', hash, again);
  return { file: path, shard: { header, units } as Shard };
}

function parseHeader(
  text: string | undefined,
  refuse: (message: string, value: unknown, next: string, cause?: unknown) => never,
): ShardHeader {
  let content: unknown;
  try {
    content = JSON.parse(text ?? '');
  } catch (cause) {
    return refuse('this is no shard file', text?.slice(0, 80), 'Name shard files only.', cause);
  }
  const version =
    typeof content === 'object' && content !== null && 'shardVersion' in content
      ? content.shardVersion
      : undefined;
  if (version === undefined)
    return refuse('this is no shard file', text?.slice(0, 80), 'Name shard files only.');
  if (version !== SHARD_VERSION) {
    const next = 'Merge with the version that wrote it, or run the shards again with this one.';
    return refuse('a shard file has another version', version, next);
  }
  const { success, data, error } = shardHeaderSchema.safeParse(content);
  if (success) return data;
  const [issue] = error.issues;
  const place = issue === undefined ? 'header' : `${issue.path.join('.')}: ${issue.message}`;
  return refuse('the header of a shard file is malformed', place, 'Run the shard again.');
}

/** Without a string of the whole file: it may be longer than strings can be. */
function textLines(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(10, at);
    const end = found < 0 ? bytes.length : found;
    lines.push(bytes.toString('utf8', at, end));
    at = end + 1;
  }
  return lines;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
