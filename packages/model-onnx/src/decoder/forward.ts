/**
 * Forward passes through the segments of a cut decoder.
 */
import type { LayerGeometry } from '@lowbit-kv/core';
import { edgeName } from '../cut/adapters.js';
import { LOGITS, type Segment } from '../cut/segments.js';
import type { ModelConfig } from '../model/config.js';
import {
  type Feed,
  feedOf,
  type InputStep,
  isPast,
  type ModelInput,
} from '../model/input-contract.js';
import { PastZeros } from '../model/past-zeros.js';
import type { SessionTensor, SessionTensors } from '../model/session.js';
import type { ForwardOptions, LayerTensors, OnLogits } from './decoder.js';
import { checkTokens, floatsOf } from './forward-checks.js';
import type { RotaryTable } from './rotary.js';
import { type TokenSlice, tokenSlices } from './token-slices.js';

export interface ForwardLayer extends Omit<LayerGeometry, 'rotary'> {
  /** Null where the graph itself turns queries and keys. */
  readonly table: RotaryTable | null;
  /** Whether keys before the embedding are handed over. */
  readonly preRope: boolean;
}

export interface ForwardModel {
  readonly segments: readonly Segment[];
  readonly layers: readonly ForwardLayer[];
  readonly vocabularySize: number;
  readonly contextLimit: number | null;
  readonly config: ModelConfig;
  /** Most tokens whose logits are made at once. */
  readonly logitsTokens: number;
}

/** Values between segments. */
type Values = Map<string, SessionTensor>;

export class ForwardPass {
  readonly #model: ForwardModel;
  readonly #zeros: PastZeros;
  /** Of the run before. */
  #logits: SessionTensor | null = null;
  /** Number of the last segment that reads a value. */
  readonly #lastReader = new Map<string, number>();
  /** Number of the last segment before an attention. */
  readonly #lastGiver: number;

  constructor(model: ForwardModel) {
    this.#model = model;
    this.#zeros = new PastZeros(model.config);
    this.#lastGiver = model.segments.findLastIndex(({ plan }) => plan.gives.length > 0);
    for (const [number, segment] of model.segments.entries())
      for (const name of edgesInto(segment)) this.#lastReader.set(name, number);
  }

  /** Throws MODEL_UNSUPPORTED for an input that is not known. */
  checkInputs(): void {
    const step = { tokens: [0], position: 0 };
    for (const { graphInputs } of this.#model.segments)
      for (const input of graphInputs) this.#feed(input, step);
  }

  /** Throws OPTION_INVALID for tokens or positions the model does not have, MODEL_UNSUPPORTED for other shapes. */
  async run(tokens: readonly number[], options: ForwardOptions): Promise<void> {
    const { position, onLogits } = options;
    checkTokens(tokens, position, this.#model);
    const step: InputStep = { tokens, position };
    const values: Values = new Map();
    const head = this.#model.segments.length - 1;
    for (const [number, segment] of this.#model.segments.entries()) {
      if (onLogits === undefined && number > this.#lastGiver) return;
      if (onLogits !== undefined && number === head)
        return this.#head(segment, values, step, options, onLogits);
      const outputs = await segment.session.run(this.#feeds(segment, values, step));
      for (const [name, reader] of this.#lastReader) if (reader <= number) values.delete(name);
      for (const name of segment.plan.carriedOut) values.set(name, required(outputs[name], name));
      for (const layer of segment.plan.gives) {
        const attended = await this.#attend(layer, outputs, step, options);
        values.set(edgeName('attention', layer), attended);
      }
    }
  }

  #feeds(segment: Segment, values: Values, step: InputStep): SessionTensors {
    const ofGraph = segment.graphInputs.map((input) => [input.name, this.#feed(input, step)]);
    const edges = edgesInto(segment).map((name) => [name, required(values.get(name), name)]);
    return Object.fromEntries([...ofGraph, ...edges]);
  }

  #feed(input: ModelInput, step: InputStep): Feed {
    return isPast(input) ? this.#zeros.feed(input, step.position) : feedOf(input, step);
  }

  async #attend(
    layer: number,
    outputs: SessionTensors,
    { tokens, position }: InputStep,
    { attend }: ForwardOptions,
  ): Promise<SessionTensor> {
    const geometry = this.#model.layers[layer];
    if (geometry === undefined) throw new TypeError(`no layer ${layer}`);
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, table } = geometry;
    const heads = (kind: 'query' | 'key' | 'value', count: number) => {
      const name = edgeName(kind, layer);
      return floatsOf(required(outputs[name], name), tokens.length * count, name);
    };
    const query = heads('query', queryHeads * keyHeadDim);
    const key = heads('key', kvHeads * keyHeadDim);
    const keyPreRope = geometry.preRope ? key.slice() : null;
    table?.rotate(query, queryHeads, keyHeadDim, position);
    table?.rotate(key, kvHeads, keyHeadDim, position);
    const value = heads('value', kvHeads * valueHeadDim);
    const tensors: LayerTensors = { query, key, keyPreRope, value };
    const width = queryHeads * valueHeadDim;
    const data = await attend(layer, tensors);
    const dims = [1, tokens.length, width];
    floatsOf({ data, dims }, tokens.length * width, `attention of layer ${layer}`);
    return { type: 'float32', data, dims };
  }

  /** In slices where the logits of a long window would be too large; every slice has onnxruntime unpack the weights again. */
  async #head(
    segment: Segment,
    values: Values,
    step: InputStep,
    { rows }: ForwardOptions,
    onLogits: OnLogits,
  ): Promise<void> {
    const feeds = this.#feeds(segment, values, step);
    const count = step.tokens.length;
    const wanted: TokenSlice = { first: rows === 'last' ? count - 1 : 0, end: count };
    const { vocabularySize, logitsTokens } = this.#model;
    for (const slice of tokenSlices(feeds, segment.plan, count, wanted, logitsTokens)) {
      const tokens = slice.end - slice.first;
      // Logits are the largest tensors of a run: fresh memory for each takes longer than many layers.
      const fits = this.#logits?.dims.join() === [1, tokens, vocabularySize].join();
      const outputs = await segment.session.run(slice.feeds, {
        [LOGITS]: fits ? this.#logits : null,
      });
      this.#logits = required(outputs[LOGITS], LOGITS);
      const logits = floatsOf(this.#logits, tokens * vocabularySize, 'logits');
      const skipped = Math.max(0, wanted.first - slice.first);
      onLogits(slice.first + skipped, logits.subarray(skipped * vocabularySize));
    }
  }
}

function edgesInto({ plan }: Segment): string[] {
  return [...plan.carriedIn, ...plan.reads.map((layer) => edgeName('attention', layer))];
}

function required(tensor: SessionTensor | undefined, name: string): SessionTensor {
  if (tensor === undefined) throw new TypeError(`segments do not give ${name}`);
  return tensor;
}
