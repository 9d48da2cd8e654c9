/**
 * Replays one layer of a window: every block is quantized once by a real cache, and each query attends to the packed form
 * of exactly those tokens that would be packed at its step, to the f16 form of the others.
 */
import {
  type Backend,
  type Cache,
  type CacheStats,
  createCache,
  decodeF16,
  encodeF16,
  f16Tensor,
  LowbitKvError,
  type ModelLayer,
  modelLayers,
  movedError,
  type Plan,
  RotaryRotation,
  singleLayerPlan,
} from '@lowbit-kv/core';
import type { LayerTensors } from '../decoder/decoder.js';
import type { AttentionSession } from './attention-graph.js';
import {
  type PackedRange,
  type ReplayBlock,
  replaySchedule,
  type ScheduleRule,
} from './schedule.js';
import { storedKeys } from './stored-keys.js';

/** What a layer held at the end of a window. */
export interface HeldLayer {
  /** f32 `[tokens, kvHeads, headDim]` as decoded, keys rotated to their positions. */
  readonly key: Float32Array;
  readonly value: Float32Array;
  readonly stats: CacheStats;
}

/** The forms of one tensor: `[tokens, heads * headDim]`. */
interface Forms {
  readonly width: number;
  readonly f16: Float32Array;
  /** Packed where the end of the window has it packed, else f16. */
  readonly held: Float32Array;
}

export class LayerReplay {
  readonly #layer: number;
  readonly #cache: Cache;
  readonly #modelLayer: ModelLayer;
  readonly #rule: ScheduleRule;
  readonly #rotation: RotaryRotation | null;
  #schedule: { readonly tokens: number; readonly blocks: readonly ReplayBlock[] } | null = null;

  private constructor(layer: number, cache: Cache, rule: ScheduleRule) {
    this.#layer = layer;
    this.#cache = cache;
    this.#modelLayer = modelLayers(cache.plan)[0] as ModelLayer;
    this.#rule = rule;
    const { rotary } = this.#modelLayer.geometry;
    this.#rotation = rotary === null ? null : new RotaryRotation(rotary);
  }

  /** Throws PLAN_REFUSED where single heads are stored apart, whose schedules differ. */
  static async create(
    plan: Plan,
    layer: number,
    backend: Backend,
    tokens: number,
    allowEmulation: boolean,
  ): Promise<LayerReplay> {
    const { geometry, units } = modelLayers(plan)[layer] as ModelLayer;
    const classes = units.map(({ plan: unit }) => [unit.key.class, unit.value.class] as const);
    const [first, ...others] = classes as [(typeof classes)[0], ...typeof classes];
    if (others.some(([key, value]) => key !== first[0] || value !== first[1])) {
      throw new LowbitKvError('PLAN_REFUSED', {
        message: 'replay takes layers whose kv heads are all packed at the same moments',
        value: `${units.length} groups of heads`,
        valid: 'overrides of whole layers, or of heads with equal windows',
        next: 'Evaluate this scheme step by step (mode decode).',
        where: { layer },
      });
    }
    const single = singleLayerPlan(plan, layer);
    const cache = await createCache(single, backend, { capacity: { tokens }, allowEmulation });
    const rule = {
      key: plan.classes[first[0]] as ScheduleRule['key'],
      value: plan.classes[first[1]] as ScheduleRule['value'],
      window: geometry.slidingWindow,
    };
    return new LayerReplay(layer, cache, rule);
  }

  /** Output `[tokens, queryHeads, valueHeadDim]` of all tokens of a window, and what was held at its end. */
  async attend(
    tensors: LayerTensors,
    session: AttentionSession,
  ): Promise<{ readonly output: Float32Array; readonly held: HeldLayer }> {
    const { kvHeads, queryHeads, keyHeadDim, valueHeadDim } = this.#modelLayer.geometry;
    const tokens = tensors.value.length / (kvHeads * valueHeadDim);
    const { key, value, stats } = await this.#store(tensors, tokens);
    const blocks = this.#blocksOf(tokens);
    const keyColumns = new Columns(key, blocks);
    const valueColumns = new Columns(value, blocks);
    const output = new Float32Array(tokens * queryHeads * valueHeadDim);
    for (const block of blocks) {
      const { positions } = block;
      const first = positions[0] as number;
      const row = queryHeads * keyHeadDim;
      const part = await session.attend({
        query: tensors.query.subarray(first * row, (first + positions.length) * row),
        positions,
        key: keyColumns.of(block, block.keyPacked, (column) => column.keyPacked),
        value: valueColumns.of(block, block.valuePacked, (column) => column.valuePacked),
        from: block.from,
        to: block.to,
      });
      output.set(part, first * queryHeads * valueHeadDim);
    }
    return { output, held: { key: key.held, value: value.held, stats } };
  }

  dispose(): void {
    this.#cache.dispose();
  }

  #blocksOf(tokens: number): readonly ReplayBlock[] {
    if (this.#schedule?.tokens !== tokens)
      this.#schedule = { tokens, blocks: replaySchedule(this.#rule, tokens) };
    return this.#schedule.blocks;
  }

  /** Appends a window to an empty sequence and reads it back. */
  async #store(tensors: LayerTensors, tokens: number) {
    const { kvHeads, keyHeadDim, valueHeadDim } = this.#modelLayer.geometry;
    const keys = encodeF16(storedKeys(this.#cache.plan, 0, tensors, this.#layer));
    const values = encodeF16(tensors.value);
    const sequence = this.#cache.createSequence();
    try {
      await this.#cache.append(
        [{ sequence, tokens }],
        [
          {
            key: f16Tensor(keys, [tokens, kvHeads, keyHeadDim]),
            value: f16Tensor(values, [tokens, kvHeads, valueHeadDim]),
          },
        ],
      );
      const held = await this.#cache.materialize(sequence, 0);
      const stats = await this.#cache.stats();
      const forms = (bits: Uint16Array, decoded: unknown, dim: number, rotate: boolean): Forms => {
        const form = { width: kvHeads * dim, f16: decodeF16(bits), held: decoded as Float32Array };
        if (rotate) for (const rows of [form.f16, form.held]) this.#rotate(rows, kvHeads, dim);
        return form;
      };
      return {
        key: forms(keys, held.key.data, keyHeadDim, this.#rotation !== null),
        value: forms(values, held.value.data, valueHeadDim, false),
        stats,
      };
    } catch (error) {
      throw inLayer(error, this.#layer);
    } finally {
      this.#cache.disposeSequence(sequence);
    }
  }

  /** Turns keys, `[tokens, kvHeads, dim]`, to their positions in place. */
  #rotate(rows: Float32Array, kvHeads: number, dim: number): void {
    const vector = new Float64Array(dim);
    for (let at = 0; at < rows.length; at += dim) {
      vector.set(rows.subarray(at, at + dim));
      this.#rotation?.rotate(vector, 0, Math.floor(at / (kvHeads * dim)));
      rows.set(vector, at);
    }
  }
}

/** Columns of one tensor, block after block: base rows turn packed as the window advances, other columns go before them. */
class Columns {
  readonly #forms: Forms;
  /** Rows kept free before position 0. */
  readonly #room: number;
  readonly #rows: Float32Array;
  #packedTo: number | null = null;

  constructor(forms: Forms, blocks: readonly ReplayBlock[]) {
    this.#forms = forms;
    this.#room = Math.max(...blocks.map(({ others }) => others.length));
    this.#rows = new Float32Array(this.#room * forms.width + forms.f16.length);
    this.#rows.set(forms.f16, this.#room * forms.width);
  }

  of(
    { positions, firstPosition, others }: ReplayBlock,
    packed: PackedRange,
    isPacked: (column: ReplayBlock['others'][number]) => boolean,
  ): Float32Array {
    const { width, f16, held } = this.#forms;
    const from = this.#packedTo ?? packed.first;
    if (packed.end > from) {
      this.#rows.set(held.subarray(from * width, packed.end * width), (this.#room + from) * width);
      this.#packedTo = packed.end;
    }
    const start = this.#room + firstPosition - others.length;
    for (const [i, column] of others.entries()) {
      const source = isPacked(column) ? held : f16;
      this.#rows.set(
        source.subarray(column.position * width, (column.position + 1) * width),
        (start + i) * width,
      );
    }
    const end = this.#room + (positions.at(-1) as number) + 1;
    return this.#rows.subarray(start * width, end * width);
  }
}

/** The same error with the layer's number in the model: the cache of one layer calls it 0. */
function inLayer(error: unknown, layer: number): unknown {
  const isPlaced = LowbitKvError.is(error) && error.where?.layer !== undefined;
  return isPlaced ? movedError(error, { layer }) : error;
}
