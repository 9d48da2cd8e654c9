/**
 * Prompts of chat models: the model's own Jinja template over a list of messages.
 */
import { Template } from '@huggingface/jinja';
import * as z from 'zod';
import { TimeLimit } from '../time-limit.js';
import { readTextIfAny, readTokenizerFiles, tokenizerError } from './tokenizer-files.js';

export interface ChatMessage {
  /** `system`, `user`, `assistant`, or what else the template knows. */
  readonly role: string;
  readonly content: string;
}

export interface ChatOptions {
  /** Ends the prompt where the answer begins. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Texts of `Tokenizer.specialTokens`; templates that write them need them. */
  readonly bosToken?: string | null;
  readonly eosToken?: string | null;
  /** Further variables of the template, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

const NEXT = 'Give another template, or a prompt without one.';
/** Of a template: it is the model's program, and real ones take milliseconds. */
const LONGEST_MILLISECONDS = 1000;
const LONGEST_RANGE = 100_000;
const messagesSchema = z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1);
const namedTemplates = z.array(z.object({ name: z.string(), template: z.string() }));

/**
 * The chat template of a model folder: chat_template.jinja, else `chat_template` of tokenizer_config.json (of several, the
 * one named `default`). Null for a model without one. Throws TOKENIZER_INVALID.
 */
export async function readChatTemplate(folder: string): Promise<string | null> {
  const file = await readTextIfAny(folder, 'chat_template.jinja');
  if (file !== undefined) return file;
  const { tokenizerConfig } = await readTokenizerFiles(folder);
  const template = chatTemplateOf(tokenizerConfig);
  if (template === undefined || template === null) return null;
  if (typeof template === 'string') return template;
  const named = namedTemplates.safeParse(template);
  const chosen = named.data?.find(({ name }) => name === 'default');
  if (chosen !== undefined) return chosen.template;
  throw tokenizerError('chat_template of tokenizer_config.json is not valid', {
    value: named.data?.map(({ name }) => name) ?? typeof template,
    valid: 'a text, or a list of { name, template } with one named "default"',
  });
}

/** Throws TOKENIZER_INVALID when the template is damaged, does not end within a second, or refuses the messages. */
export function renderChat(
  template: string,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): string {
  const checked = messagesSchema.safeParse(messages);
  if (!checked.success) {
    throw tokenizerError(
      'messages of a chat are not valid',
      { value: messages, valid: 'a list of at least one { role, content }, both text' },
      'Correct the messages.',
    );
  }
  try {
    return rendered(template, {
      ...options.variables,
      messages: checked.data,
      add_generation_prompt: options.addGenerationPrompt ?? true,
      bos_token: options.bosToken ?? '',
      eos_token: options.eosToken ?? '',
    });
  } catch (cause) {
    // The template's own raise_exception arrives here as well.
    const value = cause instanceof Error ? cause.message : String(cause);
    throw tokenizerError(
      'the chat template cannot be used for these messages',
      { value, cause },
      NEXT,
    );
  }
}

/** Throws TOKENIZER_INVALID for a configuration that is no object. */
function chatTemplateOf(tokenizerConfig: unknown): unknown {
  const parsed = z
    .looseObject({ chat_template: z.unknown().optional() })
    .safeParse(tokenizerConfig);
  if (parsed.success) return parsed.data.chat_template;
  throw tokenizerError('tokenizer_config.json is not valid', {
    value: tokenizerConfig,
    valid: 'a JSON object',
  });
}

function rendered(text: string, variables: Readonly<Record<string, unknown>>): string {
  const template = new Template(text);
  // The library's own range makes lists of any length.
  const bounded = new Template('{% set range = bounded_range %}');
  template.parsed.body.unshift(...bounded.parsed.body);
  const render = () => template.render({ ...variables, bounded_range: boundedRange });
  return new TimeLimit().within(render, LONGEST_MILLISECONDS);
}

function boundedRange(start: number, stop?: number, step = 1): number[] {
  const [first, end] = stop === undefined ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((end - first) / step));
  if (count <= LONGEST_RANGE) return Array.from({ length: count }, (_, i) => first + i * step);
  throw new RangeError(`range of ${count} numbers; valid: at most ${LONGEST_RANGE}`);
}
