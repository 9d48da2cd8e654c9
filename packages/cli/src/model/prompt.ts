/**
 * The tokens of a prompt: through the chat template of the model, or as it is.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { readChatTemplate, renderChat, type Tokenizer } from '@lowbit-kv/model-onnx';

export interface PromptOptions {
  readonly prompt: string;
  /** Message of the system, for a chat model. */
  readonly system?: string;
  /** No chat template: the model continues the text. */
  readonly raw?: boolean;
}

/** A model without a chat template continues the prompt. Throws TOKENIZER_INVALID, OPTION_INVALID. */
export async function promptTokens(
  folder: string,
  tokenizer: Tokenizer,
  { prompt, system, raw = false }: PromptOptions,
): Promise<readonly number[]> {
  const template = raw ? null : await readChatTemplate(folder);
  if (template === null && system !== undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'a prompt without chat template has no system message',
      value: system,
      valid: 'a model with a chat template, without --raw',
      next: 'Write it into the prompt.',
      where: { field: 'system' },
    });
  }
  const tokens =
    template === null
      ? tokenizer.encode(prompt, { special: true })
      : tokenizer.encode(
          renderChat(
            template,
            [
              ...(system === undefined ? [] : [{ role: 'system', content: system }]),
              { role: 'user', content: prompt },
            ],
            { bosToken: tokenizer.specialTokens.bos, eosToken: tokenizer.specialTokens.eos },
          ),
        );
  if (tokens.length > 0) return tokens;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'the prompt has no tokens',
    value: prompt,
    valid: 'at least one',
    next: 'Write something.',
    where: { field: 'prompt' },
  });
}
