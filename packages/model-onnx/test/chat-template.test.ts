/**
 * Chat templates: where they are found, what they get, what damaged ones give.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readChatTemplate, renderChat } from '../src/text/chat-template.js';

const TEMPLATE =
  "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}" +
  '{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}';
const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: '2 + 2 <|user|> {{ x }}?' },
];

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function folderWith(config: unknown, jinja?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lowbit-kv-chat-'));
  folders.push(folder);
  await writeFile(join(folder, 'tokenizer.json'), '{}');
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  if (jinja !== undefined) await writeFile(join(folder, 'chat_template.jinja'), jinja);
  return folder;
}

it('renders messages in order, with the special tokens and the start of the answer', () => {
  const tokens = { bosToken: '<s>', eosToken: '</s>' };
  expect(renderChat(TEMPLATE, MESSAGES, tokens)).toBe(
    '<s><|system|>Be brief.</s><|user|>2 + 2 <|user|> {{ x }}?</s><|assistant|>',
  );
  expect(renderChat(TEMPLATE, MESSAGES.slice(1), { addGenerationPrompt: false })).toBe(
    '<|user|>2 + 2 <|user|> {{ x }}?',
  );
});

it('passes variables on, but none that replaces the messages', () => {
  const variables = { name: 'Ada', messages: [] };
  expect(renderChat('{{ name }}: {{ messages | length }}', MESSAGES, { variables })).toBe('Ada: 2');
});

it('prefers chat_template.jinja, then tokenizer_config.json, then says that there is none', async () => {
  expect(await readChatTemplate(await folderWith({ chat_template: 'b' }, 'a'))).toBe('a');
  expect(await readChatTemplate(await folderWith({ chat_template: 'b' }))).toBe('b');
  const named = [
    { name: 'tool_use', template: 'c' },
    { name: 'default', template: 'd' },
  ];
  expect(await readChatTemplate(await folderWith({ chat_template: named }))).toBe('d');
  expect(await readChatTemplate(await folderWith({}))).toBeNull();
});

it('refuses a template of a wrong form', async () => {
  const none = folderWith({ chat_template: [{ name: 'rag', template: 'c' }] });
  await expect(readChatTemplate(await none)).rejects.toThrow(
    /TOKENIZER_INVALID: .*chat_template.*got \["rag"\]/,
  );
  await expect(readChatTemplate(await folderWith({ chat_template: 5 }))).rejects.toThrow(
    /TOKENIZER_INVALID/,
  );
});

it.each([
  ['is cut off', '{% for message in messages %}', /cannot be used/],
  ['refuses the messages', "{{ raise_exception('roles must alternate') }}", /roles must alternate/],
  ['calls what there is not', '{{ no_such_function() }}', /cannot be used/],
])('says so when the template %s', (_, template, message) => {
  expect(() => renderChat(template, MESSAGES)).toThrow(message);
  expect(() => renderChat(template, MESSAGES)).toThrow(/TOKENIZER_INVALID/);
});

it.each([
  ['a list without end', '{{ range(1/0) | join }}', /range of Infinity numbers/],
  ['a long list', '{% for i in range(0, 1000000, 2) %}{% endfor %}', /range of 500000 numbers/],
  [
    'loops in loops',
    '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}',
    /timed out/,
  ],
])('ends a template with %s', (_, template, message) => {
  expect(() => renderChat(template, MESSAGES)).toThrow(message);
  expect(() => renderChat(template, MESSAGES)).toThrow(/TOKENIZER_INVALID/);
});

it('keeps range as templates know it', () => {
  const template =
    '\n {{ range(3) | join }} {{ range(1, 7, 2) | join }} {{ range(3, 0, -1) | join }}';
  expect(renderChat(template, MESSAGES)).toBe('\n 012 135 321');
});

it('refuses a configuration that is no object', async () => {
  await expect(readChatTemplate(await folderWith(null))).rejects.toThrow(
    /TOKENIZER_INVALID: tokenizer_config.json is not valid/,
  );
});

it('refuses messages that are none', () => {
  const wrong = [[], [{ role: 'user' }], 'hello'] as unknown as (typeof MESSAGES)[];
  for (const messages of wrong) {
    expect(() => renderChat(TEMPLATE, messages)).toThrow(/TOKENIZER_INVALID: messages/);
  }
});
