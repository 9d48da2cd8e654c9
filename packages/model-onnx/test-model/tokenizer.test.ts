/**
 * The tokenizer of SmolLM2-135M-Instruct over WikiText-2: counts, text back, streaming, chat.
 */
import { expect, it } from 'vitest';
import { readChatTemplate, renderChat } from '../src/text/chat-template.js';
import { modelFolder, modelTokenizer, wholeText } from './support/real-model.js';

const TOKENS = 304_986;

it('gives the whole text its 304,986 tokens, and back', async () => {
  const tokenizer = await modelTokenizer();
  const whole = await wholeText();
  const ids = tokenizer.encode(whole);
  expect(ids.length).toBe(TOKENS);
  expect(tokenizer.decode(ids)).toBe(whole);
  expect(tokenizer.vocabularySize).toBe(49_152);
  expect(tokenizer.eosIds).toEqual([2]);
});

it('streams the text as it is', async () => {
  const tokenizer = await modelTokenizer();
  const part = `${(await wholeText()).slice(0, 50_000)} naïve 日本語 🦊`;
  const stream = tokenizer.createTextStream();
  const parts = tokenizer.encode(part).map((id) => stream.push(id));
  expect(parts.join('') + stream.flush()).toBe(part);
  expect(parts.some((one) => one.includes('\uFFFD'))).toBe(false);
});

it('renders and encodes a chat', async () => {
  const folder = modelFolder();
  const tokenizer = await modelTokenizer();
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
