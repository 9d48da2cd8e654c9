/**
 * Case onnx-input-contract: what each decoder is fed in a prompt and two steps.
 */
import { describe, expect, it } from 'vitest';
import type { Feeding } from '../src/inject/feeding.js';
import { type InjectedModel, runInjected } from '../src/inject/injected-pass.js';
import { findPastTensors } from '../src/inject/past-tensors.js';
import { joinedTokens, noTokens } from '../src/inject/token-rows.js';
import { feedOf, type ModelInput } from '../src/model/input-contract.js';
import type { SessionTensor, SessionTensors } from '../src/model/session.js';
import { loadCase } from './support/load-case.js';

interface CaseModel {
  readonly inputs: readonly string[];
  readonly kvType: 'float16' | 'float32';
  readonly Hk: number;
  readonly D: number;
}

interface Step {
  /** Dims in the first steps. */
  readonly input_ids?: number[];
  readonly attention_mask: number[];
  readonly position_ids: number[][];
  readonly past: string;
  readonly use_cache_branch?: boolean[];
  readonly cache_position?: number[];
}

const { input, expected } = loadCase<
  { models: CaseModel[]; prompt: number[]; then: number[]; batch: number },
  {
    step0: Step;
    step1: Step;
    step2: Step;
    leftPadded: { attention_mask: number[][]; position_ids: number[][] };
  }
>('onnx-input-contract');

const LAYERS = 2;
const VOCABULARY = 4;
const PAST = 'past_key_values.{0..1}.key/value';
const GROWING: Feeding = { slots: { kind: 'growing', least: 0 }, masked: 'all' };

/** Inputs as exporters declare them. */
function declared({ inputs, kvType, Hk, D }: CaseModel): ModelInput[] {
  const shapes: Readonly<Record<string, Omit<ModelInput, 'name'>>> = {
    use_cache_branch: { type: 'bool', shape: [1] },
    num_logits_to_keep: { type: 'int64', shape: [] },
    cache_position: { type: 'int64', shape: ['tokens'] },
  };
  return inputs.flatMap((name) => {
    if (name !== PAST)
      return [{ name, ...(shapes[name] ?? { type: 'int64', shape: ['batch', `${name} length`] }) }];
    return Array.from({ length: LAYERS }, (_, layer) =>
      ['key', 'value'].map((tensor) => ({
        name: `past_key_values.${layer}.${tensor}`,
        type: kvType,
        shape: ['batch', Hk, 'past', D],
      })),
    ).flat();
  });
}

/** A session that keeps what it is fed and gives back a cache that is longer by the new tokens. */
function recording(inputs: readonly ModelInput[], { Hk, D, kvType }: CaseModel) {
  const fed: SessionTensors[] = [];
  const outputs = inputs
    .filter(({ name }) => name.startsWith('past'))
    .map((past) => ({ ...past, name: past.name.replace('past_key_values', 'present') }));
  const run = async (feeds: SessionTensors) => {
    fed.push(feeds);
    const tokens = feeds.input_ids?.dims[1] ?? 0;
    const slots = (feeds['past_key_values.0.key']?.dims[2] ?? 0) + tokens;
    const data =
      kvType === 'float32' ? new Float32Array(Hk * slots * D) : new Uint16Array(Hk * slots * D);
    const present: SessionTensor = { type: kvType, data, dims: [1, Hk, slots, D] };
    return {
      logits: {
        type: 'float32',
        data: new Float32Array(tokens * VOCABULARY),
        dims: [1, tokens, VOCABULARY],
      },
      ...Object.fromEntries(outputs.map(({ name }) => [name, present])),
    };
  };
  const model: InjectedModel = {
    session: { inputs, run, release: async () => undefined },
    tensors: findPastTensors({ inputs, outputs }, {}),
    layers: LAYERS,
    logits: 'logits',
    vocabularySize: VOCABULARY,
  };
  return { model, fed };
}

const numbers = (tensor: SessionTensor | undefined) =>
  Array.from(tensor?.data as ArrayLike<number | bigint>, Number);
/** `[1,Hk,3,D]` of a model. */
const dimsOf = (text: string, { Hk, D }: CaseModel): unknown =>
  JSON.parse((/\[.*\]/.exec(text)?.[0] ?? '').replace('Hk', `${Hk}`).replace('D', `${D}`));

const known = input.models.filter(({ inputs }) => !inputs.includes('something_new'));

it.each(known.map((model, i) => [`model ${i}: ${model.inputs.join(', ')}`, model] as const))(
  '%s',
  async (_, decoder) => {
    const { model, fed } = recording(declared(decoder), decoder);
    let past = noTokens(LAYERS);
    for (const tokens of [input.prompt, ...input.then.map((token) => [token])])
      past = joinedTokens([past, (await runInjected(model, tokens, past, GROWING)).rows]);
    for (const [i, step] of [expected.step0, expected.step1, expected.step2].entries()) {
      const feeds = fed[i] ?? {};
      const positions = step.position_ids.flat();
      expect(Object.keys(feeds).sort()).toEqual(
        declared(decoder)
          .map(({ name }) => name)
          .sort(),
      );
      expect(numbers(feeds.input_ids)).toEqual(i === 0 ? input.prompt : [input.then[i - 1]]);
      expect(feeds.input_ids?.dims).toEqual(step.input_ids ?? [1, 1]);
      if ('attention_mask' in feeds) {
        expect(feeds.attention_mask?.dims).toEqual(step.attention_mask);
        expect(new Set(numbers(feeds.attention_mask))).toEqual(new Set([1]));
      }
      if ('position_ids' in feeds) {
        expect(feeds.position_ids?.dims).toEqual([1, positions.length]);
        expect(numbers(feeds.position_ids)).toEqual(positions);
      }
      if ('cache_position' in feeds)
        expect(numbers(feeds.cache_position)).toEqual(step.cache_position ?? positions);
      if ('use_cache_branch' in feeds) {
        const branch = step.use_cache_branch ?? [true];
        expect(feeds.use_cache_branch?.type).toBe('bool');
        expect(numbers(feeds.use_cache_branch)).toEqual(branch.map(Number));
      }
      if ('num_logits_to_keep' in feeds) {
        expect(feeds.num_logits_to_keep?.dims).toEqual([]);
        expect([0, 1]).toContain(numbers(feeds.num_logits_to_keep)[0]);
      }
      for (const { input: name } of model.tensors) {
        expect(feeds[name]?.type).toBe(decoder.kvType);
        expect(feeds[name]?.dims).toEqual(dimsOf(step.past, decoder));
      }
    }
  },
);

it('padding on the left has no positions', () => {
  const { attention_mask, position_ids } = expected.leftPadded;
  const step = { tokens: [0, 0, 5, 6, 7], position: 0, mask: attention_mask.flat() };
  const shape = ['batch', 'tokens'];
  for (const [name, rows] of Object.entries({ attention_mask, position_ids })) {
    const feed = feedOf({ name, type: 'int64', shape }, step);
    expect(feed.dims).toEqual([1, 5]);
    expect(numbers(feed)).toEqual(rows.flat());
  }
});

it.each([
  ['past_sequence_length', 3],
  ['past_seq_len', 3],
  ['total_sequence_length', 5],
  ['total_seq_len', 5],
  ['seqlens_k', 4],
])('%s is a number of the declared rank', (name, value) => {
  for (const shape of [[], [1], ['batch', 1]]) {
    const feed = feedOf({ name, type: 'int32', shape }, { tokens: [8, 9], position: 3 });
    expect(feed.dims).toEqual(shape.map(() => 1));
    expect(numbers(feed)).toEqual([value]);
  }
});

describe('an input that is not known', () => {
  const unknown = input.models.filter(({ inputs }) => inputs.includes('something_new'));

  it.each(unknown)('$inputs', async (decoder) => {
    const { model, fed } = recording(declared(decoder), decoder);
    const run = runInjected(model, input.prompt, noTokens(LAYERS), GROWING);
    await expect(run).rejects.toThrow(/MODEL_UNSUPPORTED.*something_new/);
    expect(fed).toEqual([]);
  });
});
