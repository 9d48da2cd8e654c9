/**
 * Exact streaming evaluation in one pass: layer by layer, a whole window runs at once, and every position sees what
 * step-by-step decoding would have shown it. Causality makes the two equal.
 */
import { type Backend, LowbitKvError, type Plan } from '@lowbit-kv/core';
import type { LayerNotes, LogitsSink, PlanRun, WindowNotes } from '@lowbit-kv/harness';
import { type Decoder, layerGeometry } from '../decoder/decoder.js';
import type { AttentionSessions } from './attention-graph.js';
import {
  exactOutputs,
  headErrors,
  layerNotes,
  outputCauses,
  rowsAt,
  sampledPositions,
} from './layer-noise.js';
import { LayerReplay } from './layer-replay.js';
import { bitsOf } from './stored-bits.js';

export interface ReplayOptions {
  /** What packs and unpacks. */
  readonly backend: Backend;
  /** Longest window. */
  readonly tokens: number;
  readonly allowEmulation?: boolean;
}

export class PlanReplay implements PlanRun {
  readonly #decoder: Decoder;
  readonly #layers: readonly LayerReplay[];
  readonly #attention: AttentionSessions;
  readonly #tokens: number;

  private constructor(
    decoder: Decoder,
    layers: readonly LayerReplay[],
    attention: AttentionSessions,
    tokens: number,
  ) {
    this.#decoder = decoder;
    this.#layers = layers;
    this.#attention = attention;
    this.#tokens = tokens;
  }

  /** Throws what `createCache` throws, and PLAN_REFUSED for what only step-by-step decoding can do. */
  static async open(
    decoder: Decoder,
    plan: Plan,
    attention: AttentionSessions,
    { backend, tokens, allowEmulation = false }: ReplayOptions,
  ): Promise<PlanReplay> {
    const layers: LayerReplay[] = [];
    try {
      for (const layer of decoder.layers.keys())
        layers.push(await LayerReplay.create(plan, layer, backend, tokens, allowEmulation));
    } catch (error) {
      for (const layer of layers) layer.dispose();
      throw error;
    }
    return new PlanReplay(decoder, layers, attention, tokens);
  }

  async run(tokens: readonly number[], sink: LogitsSink): Promise<WindowNotes> {
    requireRoom(tokens.length, this.#tokens);
    const positions = sampledPositions(tokens.length);
    const notes: LayerNotes[] = [];
    const stats: Parameters<typeof bitsOf>[1] = [];
    await this.#decoder.forward(tokens, {
      position: 0,
      onLogits: sink,
      attend: async (layer, tensors) => {
        const geometry = layerGeometry(this.#decoder, layer);
        const session = await this.#attention.of(geometry);
        const { output, held } = await (this.#layers[layer] as LayerReplay).attend(
          tensors,
          session,
        );
        const exact = await exactOutputs(tensors, geometry, positions, session);
        const width = geometry.queryHeads * geometry.valueHeadDim;
        const heads = headErrors(rowsAt(output, width, positions), exact, geometry);
        const causes = await outputCauses(held, tensors, geometry, positions, exact, session);
        notes.push({ ...layerNotes(held, tensors, heads), causes });
        stats.push(held.stats);
        return output;
      },
    });
    return { layers: notes, storedBits: bitsOf(this.#decoder, stats, tokens.length) };
  }

  async dispose(): Promise<void> {
    for (const layer of this.#layers) layer.dispose();
  }
}

/** Throws OPTION_INVALID for a window that is longer than what was opened. */
export function requireRoom(tokens: number, limit: number): void {
  if (tokens >= 1 && tokens <= limit) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'the window does not fit the caches that were opened',
    value: tokens,
    valid: `1 to ${limit} tokens`,
    next: 'Open the run for the longest window.',
  });
}
