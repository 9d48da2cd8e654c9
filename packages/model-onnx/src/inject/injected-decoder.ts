/**
 * The fallback `past-injection`: a decoder runs unchanged, and its past comes from outside. The slow path that works for any
 * decoder whose cache is among its inputs and outputs.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Decoder, OnLogits } from '../decoder/decoder.js';
import { checkTokens } from '../decoder/forward-checks.js';
import { geometryOf } from '../decoder/layers.js';
import { feedOf } from '../model/input-contract.js';
import type { ModelFiles } from '../model/model-files.js';
import { logitsOf, vocabularyOf } from '../model/outputs.js';
import { fingerprintOf } from '../model/read-model.js';
import { loadWholeModel, type ModelSession, type SessionSettings } from '../model/session.js';
import { type ChosenFeeding, chooseFeeding } from './choose-feeding.js';
import { capacityOf } from './feeding.js';
import { type InjectedModel, runInjected } from './injected-pass.js';
import { injectedLayers } from './layers.js';
import { findPastTensors } from './past-tensors.js';
import { joinedTokens, noTokens, type TokenRows } from './token-rows.js';

/** Tokens of one run: logits of long prompts would take much memory. */
const RUN_TOKENS = 256;

export interface InjectedForward {
  readonly onLogits?: OnLogits;
  /** `last`: logits of the last token alone. Default `all`. */
  readonly rows?: 'all' | 'last';
}

/** What `Decoder` says holds here; scale, soft cap and window of the geometry are defaults, attention being the model's own. */
export interface InjectedDecoder
  extends Pick<
    Decoder,
    'geometry' | 'layers' | 'vocabularySize' | 'contextLimit' | 'fingerprint' | 'dispose'
  > {
  /**
   * Runs new tokens after those of `past`; gives their keys and values. Throws OPTION_INVALID for tokens or lengths that the
   * model does not have, MODEL_UNSUPPORTED, BACKEND_FAILED.
   */
  forward(
    tokens: readonly number[],
    past: TokenRows,
    options?: InjectedForward,
  ): Promise<TokenRows>;
}

/**
 * Takes pasts named `past_key_values.N.key` and `.value` (also `.N.decoder.key`, `past.N.key`, `past_key_N`), or `past_N` with
 * both on its first axis; heads, tokens and channels in any order that a cache has; f32 or f16; of any length, or of a fixed
 * one whose empty slots stay unseen. Everything else is refused by name. Runs a few tokens to find out what the model wants.
 *
 * Throws MODEL_INVALID, MODEL_UNSUPPORTED, PEER_MISSING, BACKEND_UNAVAILABLE.
 */
export async function openInjectedDecoder(
  files: ModelFiles,
  settings: SessionSettings = {},
): Promise<InjectedDecoder> {
  const fingerprint = await fingerprintOf(files);
  const session = await loadWholeModel(files, settings);
  try {
    const { model, single, ...rest } = describe(session, files);
    const chosen = await chooseFeeding(model, single);
    const limits = [files.config.max_position_embeddings, capacityOf(chosen.feeding)];
    const known = limits.filter((limit) => limit != null);
    return new OpenDecoder(model, chosen, single, {
      ...rest,
      fingerprint,
      contextLimit: known.length === 0 ? null : Math.min(...known),
    });
  } catch (error) {
    await session.release();
    throw error;
  }
}

/** What names and shapes say. Throws MODEL_UNSUPPORTED. */
function describe(session: ModelSession, { config }: ModelFiles) {
  const logits = logitsOf(session.outputs);
  const shape = session.outputs.find(({ name }) => name === logits)?.shape ?? null;
  const vocabularySize = vocabularyOf(shape, config);
  const tensors = findPastTensors(session, config);
  const pasts = new Set(tensors.map(({ input }) => input));
  for (const input of session.inputs)
    if (!pasts.has(input.name)) feedOf(input, { tokens: [0], position: 0 });
  const layers = injectedLayers(tensors, config);
  const model: InjectedModel = { session, tensors, layers: layers.length, logits, vocabularySize };
  return { model, single: takesOneToken(session), layers, geometry: geometryOf(layers) };
}

/** Whether the model takes one token at a time. */
function takesOneToken({ inputs }: ModelSession): boolean {
  const tokens = inputs.find(({ name }) => name === 'input_ids')?.shape?.[1];
  if (typeof tokens !== 'number') return false;
  if (tokens === 1) return true;
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'the model takes a fixed number of tokens at a time',
    value: tokens,
    valid: 'any number, or one',
    next: 'Export the decoder with a dynamic number of tokens.',
  });
}

type Facts = Pick<InjectedDecoder, 'geometry' | 'layers' | 'contextLimit' | 'fingerprint'>;

class OpenDecoder implements InjectedDecoder {
  readonly geometry: Facts['geometry'];
  readonly layers: Facts['layers'];
  readonly vocabularySize: number;
  readonly contextLimit: number | null;
  readonly fingerprint: string;
  readonly #model: InjectedModel;
  readonly #chosen: ChosenFeeding;
  readonly #single: boolean;

  constructor(model: InjectedModel, chosen: ChosenFeeding, single: boolean, facts: Facts) {
    this.geometry = facts.geometry;
    this.layers = facts.layers;
    this.vocabularySize = model.vocabularySize;
    this.contextLimit = facts.contextLimit;
    this.fingerprint = facts.fingerprint;
    this.#model = model;
    this.#chosen = chosen;
    this.#single = single;
  }

  async forward(
    tokens: readonly number[],
    past: TokenRows,
    { onLogits, rows = 'all' }: InjectedForward = {},
  ): Promise<TokenRows> {
    checkTokens(tokens, past.tokens, this);
    const { feeding, givesAllLogits } = this.#chosen;
    const wantsAll = onLogits !== undefined && rows === 'all';
    const size = this.#single || (wantsAll && !givesAllLogits) ? 1 : RUN_TOKENS;
    let made = noTokens(this.layers.length);
    for (let first = 0; first < tokens.length; first += size) {
      const part = tokens.slice(first, first + size);
      const pass = await runInjected(this.#model, part, joinedTokens([past, made]), feeding);
      made = joinedTokens([made, pass.rows]);
      const end = first + part.length;
      if (wantsAll) onLogits(first, pass.logits);
      else if (end === tokens.length)
        onLogits?.(end - 1, pass.logits.subarray(-this.vocabularySize));
    }
    return made;
  }

  dispose(): Promise<void> {
    return this.#model.session.release();
  }
}
