/**
 * The tokenizer of SmolLM2-135M-Instruct over WikiText-2: counts, text back, streaming, chat. LOWBIT_KV_MODEL names the
 * folder of the model, LOWBIT_KV_TEXT the raw test split.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readChatTemplate, renderChat } from '../src/text/chat-template.js';
import { openTokenizer } from '../src/text/tokenizer.js';

const TOKENS = 304_986;

function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`set ${name}: the header of this file says to what`);
}

const text = async () => {
  const raw = await readFile(required('LOWBIT_KV_TEXT'), 'utf8');
  // Published figures count line ends as LF.
  return raw.replaceAll('\r\n', '\n');
};

it('gives the whole text its 304,986 tokens, and back', async () => {
  const tokenizer = await openTokenizer(required('LOWBIT_KV_MODEL'));
  const whole = await text();
  const ids = tokenizer.encode(whole);
  expect(ids.length).toBe(TOKENS);
  expect(tokenizer.decode(ids)).toBe(whole);
  expect(tokenizer.vocabularySize).toBe(49_152);
  expect(tokenizer.eosIds).toEqual([2]);
});

it('streams the text as it is', async () => {
  const tokenizer = await openTokenizer(required('LOWBIT_KV_MODEL'));
  const part = `${(await text()).slice(0, 50_000)} naïve 日本語 🦊`;
  const stream = tokenizer.createTextStream();
  const parts = tokenizer.encode(part).map((id) => stream.push(id));
  expect(parts.join('') + stream.flush()).toBe(part);
  expect(parts.some((one) => one.includes('\uFFFD'))).toBe(false);
});

it('renders and encodes a chat', async () => {
  const folder = required('LOWBIT_KV_MODEL');
  const tokenizer = await openTokenizer(folder);
  const template = await readChatTemplate(folder);
  const prompt = renderChat(template ?? '', [{ role: 'user', content: 'Hi' }]);
  expect(prompt).toBe(
    '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' +
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
  const ids = tokenizer.encode(prompt);
  expect(ids.filter((id) => id === 1)).toHaveLength(3);
  expect(tokenizer.decode(ids, { special: true })).toBe(prompt);
});
