/**
 * Evaluation by the true loop, a step per token: slow, on any backend, and with the noise that replay notes.
 */
import {
  type Cache,
  createCache,
  type HostTensor,
  type Plan,
  type Sequence,
} from '@lowbit-kv/core';
import type { LayerNotes, LogitsSink, PlanRun, WindowNotes } from '@lowbit-kv/harness';
import { type Decoder, type LayerTensors, layerGeometry } from '../decoder/decoder.js';
import type { AttentionSessions } from './attention-graph.js';
import { exactOutputs, headErrors, layerNotes, rowsAt, sampledPositions } from './layer-noise.js';
import { type ReplayOptions, requireRoom } from './plan-replay.js';
import { attendInStep } from './step-decoding.js';
import { bitsOf } from './stored-bits.js';
import { storedKeys } from './stored-keys.js';

export class StepRun implements PlanRun {
  readonly #decoder: Decoder;
  readonly #cache: Cache;
  readonly #attention: AttentionSessions;
  readonly #tokens: number;

  private constructor(
    decoder: Decoder,
    cache: Cache,
    attention: AttentionSessions,
    tokens: number,
  ) {
    this.#decoder = decoder;
    this.#cache = cache;
    this.#attention = attention;
    this.#tokens = tokens;
  }

  /** Throws what `createCache` throws. */
  static async open(
    decoder: Decoder,
    plan: Plan,
    attention: AttentionSessions,
    { backend, tokens, allowEmulation = false }: ReplayOptions,
  ): Promise<StepRun> {
    const cache = await createCache(plan, backend, { capacity: { tokens }, allowEmulation });
    return new StepRun(decoder, cache, attention, tokens);
  }

  async run(tokens: readonly number[], sink: LogitsSink): Promise<WindowNotes> {
    requireRoom(tokens.length, this.#tokens);
    const sequence = this.#cache.createSequence();
    try {
      const met = this.#decoder.layers.map(() => new LayerHistory());
      for (const [position, token] of tokens.entries()) {
        const step = this.#cache.step([{ sequence, tokens: 1 }]);
        try {
          const attend = attendInStep(this.#cache.plan, this.#decoder, step);
          await this.#decoder.forward([token], {
            position,
            onLogits: (_, logits) => sink(position, logits),
            attend: async (layer, tensors) => {
              const output = await attend(layer, tensors);
              const stored = storedKeys(this.#cache.plan, layer, tensors);
              met[layer]?.add({ ...tensors, stored, output });
              return output;
            },
          });
          await step.commit();
        } finally {
          step.abandon();
        }
      }
      return await this.#notes(sequence, met);
    } finally {
      this.#cache.disposeSequence(sequence);
    }
  }

  async dispose(): Promise<void> {
    this.#cache.dispose();
  }

  async #notes(sequence: Sequence, met: readonly LayerHistory[]): Promise<WindowNotes> {
    const positions = sampledPositions(sequence.length);
    const layers: LayerNotes[] = [];
    for (const [layer, history] of met.entries()) {
      const geometry = layerGeometry(this.#decoder, layer);
      const session = await this.#attention.of(geometry);
      const exact = await exactOutputs(history, geometry, positions, session);
      const width = geometry.queryHeads * geometry.valueHeadDim;
      const heads = headErrors(rowsAt(history.output, width, positions), exact, geometry);
      const held = await this.#cache.materialize(sequence, layer);
      // A sliding window has let go of tokens: what is left is compared.
      const keyWidth = geometry.kvHeads * geometry.keyHeadDim;
      const valueWidth = geometry.kvHeads * geometry.valueHeadDim;
      const stored = {
        key: rowsAt(history.stored, keyWidth, Int32Array.from(held.keyPositions)),
        value: rowsAt(history.value, valueWidth, Int32Array.from(held.valuePositions)),
      };
      const data = { key: elementsOf(held.key), value: elementsOf(held.value) };
      layers.push(layerNotes(data, stored, heads));
    }
    const stats = await this.#cache.stats();
    return { layers, storedBits: bitsOf(this.#decoder, [stats], sequence.length) };
  }
}

interface StepTensors extends LayerTensors {
  /** Keys at the stage that the cache stores. */
  readonly stored: Float32Array;
  readonly output: Float32Array;
}

/** What one layer met, step after step: each tensor of all tokens so far. */
class LayerHistory {
  readonly #parts: StepTensors[] = [];

  add(part: StepTensors): void {
    this.#parts.push(part);
  }

  get query(): Float32Array {
    return concatenated(this.#parts.map(({ query }) => query));
  }

  get key(): Float32Array {
    return concatenated(this.#parts.map(({ key }) => key));
  }

  get stored(): Float32Array {
    return concatenated(this.#parts.map(({ stored }) => stored));
  }

  get value(): Float32Array {
    return concatenated(this.#parts.map(({ value }) => value));
  }

  get output(): Float32Array {
    return concatenated(this.#parts.map(({ output }) => output));
  }
}

function elementsOf(tensor: HostTensor): Float32Array {
  return tensor.data as Float32Array;
}

/** One after another. */
export function concatenated(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
