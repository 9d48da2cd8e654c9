/**
 * A decoder as the harness evaluates it by past injection: one step per token.
 */
import type { Cache, Plan } from '@lowbit-kv/core';
import type { EvaluatedModel, LogitsSink, PlanRun, WindowNotes } from '@lowbit-kv/harness';
import type { TokenRunOptions } from '../generate/token-run.js';
import { layerNotes } from '../replay/layer-noise.js';
import { requireRoom } from '../replay/plan-replay.js';
import { bitsOf } from '../replay/stored-bits.js';
import type { InjectedDecoder } from './injected-decoder.js';
import { injectedStep, openInjectedCache, readPast } from './injected-sequence.js';
import { joinedTokens, type LayerRows, noTokens, type TokenRows } from './token-rows.js';

export interface InjectedModelOptions extends TokenRunOptions {
  readonly name: string;
  readonly decoder: InjectedDecoder;
}

/** Noise of attention outputs is not noted: queries stay inside the model. `tokens` is the longest window. */
export function injectedModel({ name, decoder, ...rest }: InjectedModelOptions): EvaluatedModel {
  const { geometry, vocabularySize, contextLimit, fingerprint } = decoder;
  return {
    name,
    fingerprint,
    geometry,
    vocabularySize,
    contextLimit,
    notesHeads: false,
    async uncut(tokens, sink) {
      await decoder.forward(tokens, noTokens(decoder.layers.length), { onLogits: sink });
    },
    open: async (plan: Plan) =>
      new InjectedWindows(decoder, await openInjectedCache(decoder, plan, rest), rest.tokens),
  };
}

class InjectedWindows implements PlanRun {
  readonly #decoder: InjectedDecoder;
  readonly #cache: Cache;
  readonly #tokens: number;

  constructor(decoder: InjectedDecoder, cache: Cache, tokens: number) {
    this.#decoder = decoder;
    this.#cache = cache;
    this.#tokens = tokens;
  }

  async run(tokens: readonly number[], sink: LogitsSink): Promise<WindowNotes> {
    requireRoom(tokens.length, this.#tokens);
    const sequence = this.#cache.createSequence();
    try {
      const met: [TokenRows, ...TokenRows[]] = [noTokens(this.#decoder.layers.length)];
      for (const [position, token] of tokens.entries()) {
        const onLogits = (_: number, logits: Float32Array) => sink(position, logits);
        met.push(await injectedStep(this.#decoder, this.#cache, sequence, [token], { onLogits }));
      }
      const exact = joinedTokens(met);
      const held = await readPast(this.#decoder, this.#cache, sequence);
      const layers = held.layers.map((rows, i) =>
        layerNotes(rows, exact.layers[i] as LayerRows, []),
      );
      const stats = await this.#cache.stats();
      return { layers, storedBits: bitsOf(this.#decoder, [stats], tokens.length) };
    } finally {
      this.#cache.disposeSequence(sequence);
    }
  }

  async dispose(): Promise<void> {
    this.#cache.dispose();
  }
}
