/**
 * The files of a tokenizer: read, parsed, and what they say about special tokens.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import * as z from 'zod';

/** Parsed JSON of a tokenizer's files. */
export interface TokenizerFiles {
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: unknown;
  readonly generationConfig?: unknown;
  readonly config?: unknown;
}

/** Texts of the special tokens that a chat template may write; null where there is none. */
export interface SpecialTokens {
  readonly bos: string | null;
  readonly eos: string | null;
  readonly pad: string | null;
  readonly unknown: string | null;
}

const tokenText = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
const tokenIds = z.union([z.int().min(0), z.array(z.int().min(0))]).nullish();

const tokenizerConfigSchema = z.looseObject({
  bos_token: tokenText,
  eos_token: tokenText,
  pad_token: tokenText,
  unk_token: tokenText,
});
const modelConfigSchema = z.looseObject({
  eos_token_id: tokenIds,
  text_config: z.looseObject({ eos_token_id: tokenIds }).nullish(),
});

export function tokenizerError(
  message: string,
  details: { readonly value?: unknown; readonly valid?: string; readonly cause?: unknown },
  next = 'Fetch the model again, or take the file from its hub repository.',
): LowbitKvError {
  return new LowbitKvError('TOKENIZER_INVALID', { message, ...details, next });
}

/** Throws TOKENIZER_INVALID when one of the two needed files is missing, or any file is damaged. */
export async function readTokenizerFiles(folder: string): Promise<TokenizerFiles> {
  const [tokenizerJson, tokenizerConfig, generationConfig, config] = await Promise.all([
    readJson(folder, 'tokenizer.json'),
    readJson(folder, 'tokenizer_config.json'),
    readJsonIfAny(folder, 'generation_config.json'),
    readJsonIfAny(folder, 'config.json'),
  ]);
  return { tokenizerJson, tokenizerConfig, generationConfig, config };
}

export function specialTokens(tokenizerConfig: unknown): SpecialTokens {
  const fields = parsed(tokenizerConfigSchema, tokenizerConfig, 'tokenizer_config.json');
  const text = (token: z.infer<typeof tokenText>): string | null =>
    (typeof token === 'string' ? token : token?.content) ?? null;
  return {
    bos: text(fields.bos_token),
    eos: text(fields.eos_token),
    pad: text(fields.pad_token),
    unknown: text(fields.unk_token),
  };
}

/** Ids that end a text by the model's own files, ascending. */
export function configuredEosIds(files: TokenizerFiles): number[] {
  const ids = new Set<number>();
  for (const [name, file] of [
    ['generation_config.json', files.generationConfig],
    ['config.json', files.config],
  ] as const) {
    if (file === undefined) continue;
    const fields = parsed(modelConfigSchema, file, name);
    for (const some of [fields.eos_token_id, fields.text_config?.eos_token_id]) {
      for (const id of typeof some === 'number' ? [some] : (some ?? [])) ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** Larger than any vocabulary; the library keeps a list up to the largest id. */
const LARGEST_ID = 2 ** 24;
const tokenId = z.int().min(0).max(LARGEST_ID);
/** Of names of any kind: schemas of records pass over `__proto__`. */
function areIds(vocabulary: unknown): boolean {
  if (typeof vocabulary !== 'object' || vocabulary === null) return false;
  return Object.values(vocabulary).every((id) => tokenId.safeParse(id).success);
}

const vocabularySchema = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: tokenId, content: z.string() })).nullish(),
  // Unigram has a list in place of it, whose ids are places.
  model: z
    .looseObject({
      vocab: z
        .union([z.array(z.unknown()), z.custom(areIds, 'ids that are integers of at least 0')])
        .nullish(),
    })
    .nullish(),
});

/** Throws TOKENIZER_INVALID for ids that are none: the library takes them as they are. */
export function checkVocabularyIds(tokenizerJson: unknown): void {
  parsed(vocabularySchema, tokenizerJson, 'tokenizer.json');
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw tokenizerError(`${name}: ${issue?.path.join('.') || 'the file'} is not valid`, {
    valid: issue?.message ?? 'a JSON object',
    cause: result.error,
  });
}

async function readJson(folder: string, name: string): Promise<unknown> {
  const value = await readJsonIfAny(folder, name);
  if (value !== undefined) return value;
  throw tokenizerError(
    `${name} is missing`,
    { value: join(folder, name), valid: 'a folder with tokenizer.json and tokenizer_config.json' },
    'Name the folder of the model, with the files of its hub repository.',
  );
}

async function readJsonIfAny(folder: string, name: string): Promise<unknown> {
  const text = await readTextIfAny(folder, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw tokenizerError(`${name} is not JSON`, { value: join(folder, name), cause });
  }
}

/** Undefined when there is no such file. */
export async function readTextIfAny(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, name), 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw tokenizerError(
      `${name} cannot be read`,
      { value: join(folder, name), cause },
      'Check the path and its permissions.',
    );
  }
}
