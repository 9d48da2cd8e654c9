/**
 * The real model and its text, as `pnpm test:model` names them: SmolLM2-135M-Instruct with 4-bit weights, and the raw test
 * split of WikiText-2.
 */
import { readFile } from 'node:fs/promises';
import { type ModelFiles, openModelFiles } from '../../src/model/model-files.js';
import { openTokenizer, type Tokenizer } from '../../src/text/tokenizer.js';

function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: run pnpm test:model --model DIR`);
}

export function modelFolder(): string {
  return required('LOWBIT_KV_MODEL');
}

export function modelFiles(): Promise<ModelFiles> {
  return openModelFiles(modelFolder());
}

export function modelTokenizer(): Promise<Tokenizer> {
  return openTokenizer(modelFolder());
}

/** Line ends as \n, as published figures count them. */
export async function wholeText(): Promise<string> {
  return (await readFile(required('LOWBIT_KV_TEXT'), 'utf8')).replaceAll('\r\n', '\n');
}

/** First tokens of the text. */
export async function textTokens(count: number): Promise<number[]> {
  // A token has 4 characters on average here, and no stretch of the text has 12.
  const start = (await wholeText()).slice(0, 12 * count);
  return (await modelTokenizer()).encode(start).slice(0, count);
}
