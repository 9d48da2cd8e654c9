/**
 * Past injection finds out what a decoder wants: names, axes, fixed lengths, further inputs. What cannot be known is refused.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { maxAbsDifference } from '@lowbit-kv/core/testing';
import { F16 } from '@lowbit-kv/harness';
import { describe, expect, it } from 'vitest';
import { PIECES, TOKENS } from './support/cut-and-whole.js';
import { GraphWriter } from './support/graph-writer.js';
import { extendBy, openTiny, startRun } from './support/injected.js';
import { runWhole } from './support/run-whole.js';
import { CAPACITY, type CacheOptions, cached } from './support/tiny-caches.js';
import { type TinyDecoder, tinyDecoder } from './support/tiny-decoders.js';

const named = (key: string, present: string): NonNullable<CacheOptions['names']> => {
  const name = (pattern: string, layer: number, tensor: string) =>
    pattern.replace('N', `${layer}`).replace('T', tensor);
  return (layer, tensor) => [name(key, layer, tensor), name(present, layer, tensor)];
};

const CACHES: Readonly<Record<string, CacheOptions>> = {
  'without positions': { positions: 'none' },
  'without a mask': { mask: 'none' },
  'a mask that nothing reads': { mask: 'ignored' },
  'a mask of new tokens': { mask: 'new' },
  'keys and values on one axis': { stacked: true },
  'new tokens alone come back': { givesNew: true },
  'the branch of a merged decoder': { branch: 'input' },
  'the total as a number': { total: true, mask: 'none' },
  'an empty past fails': { slots: 'scratch' },
  'a fixed cache, new tokens after it': { slots: 'end' },
  'a fixed cache, written in place': { slots: 'start', mask: 'none' },
  'past.N.key': { names: named('past.N.T', 'present.N.T') },
  'past_key_values.N.decoder.key': {
    names: named('past_key_values.N.decoder.T', 'present.N.decoder.T'),
  },
  past_key_N: { names: named('past_T_N', 'present_T_N') },
  'present_key_values.N.key': { names: named('past_key_values.N.T', 'present_key_values.N.T') },
};

const F16_PAST = 1e-3;

/** Shapes that are fixed altogether do not say which number counts what. */
const CONFIG = { num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16 };

const logitsOf = async (options: CacheOptions, elementType: 'float32' | 'float16' = 'float32') => {
  const decoder = await openTiny(tinyDecoder(cached(options), { elementType }), CONFIG);
  const run = await startRun(decoder, F16, TOKENS.length);
  const logits = await extendBy(run, decoder.vocabularySize, TOKENS, PIECES);
  await run.dispose();
  await decoder.dispose();
  return logits;
};

it.each(Object.entries(CACHES))('%s', async (_, options) => {
  const { positions = 'ids' } = options;
  // The same weights with the plainest cache, all tokens at once.
  const expected = await runWhole(tinyDecoder(cached({ positions, mask: 'none' })), TOKENS);
  expect(maxAbsDifference(expected, new Float32Array(expected.length))).toBeGreaterThan(1);
  expect(maxAbsDifference(await logitsOf(options), expected)).toBeLessThan(F16_PAST);
  expect(maxAbsDifference(await logitsOf(options, 'float16'), expected)).toBeLessThan(0.1);
});

describe('what it refuses', () => {
  const refusal = async (options: CacheOptions, config: object = CONFIG) => {
    const error = await openTiny(tinyDecoder(cached(options)), config).catch((e: unknown) => e);
    if (!LowbitKvError.is(error)) throw new Error('it was taken');
    expect(error.code).toBe('MODEL_UNSUPPORTED');
    return error.message;
  };

  it('steps that do not see the past', async () => {
    expect(await refusal({ branch: 'never' })).toMatch(/logits do not depend on the past/);
  });

  it('positions that start again in every step', async () => {
    expect(await refusal({ positions: 'from-zero' })).toMatch(/logits of steps are off by an NMSE/);
  });

  it('a fixed cache whose empty slots are seen', async () => {
    expect(await refusal({ slots: 'end', mask: 'ignored' })).toMatch(
      /slots without a token are seen/,
    );
  });

  it('a fixed shape that the configuration does not explain', async () => {
    const config = { num_attention_heads: 4 };
    expect(await refusal({ slots: 'end' }, config)).toMatch(/shape of past_key_values.0.key/);
  });

  it('a past of cross-attention', async () => {
    const names = named('past_key_values.N.encoder.T', 'present.N.encoder.T');
    expect(await refusal({ names })).toMatch(/no inputs of a past/);
  });

  it('a past that does not come back', async () => {
    const names = named('past_key_values.N.T', 'cache.N.T');
    expect(await refusal({ names })).toMatch(/nothing gives back what past_key_values.0.key takes/);
  });

  it('layers that have no past', async () => {
    const names: CacheOptions['names'] = (layer, tensor) => [
      `past.${2 * layer}.${tensor}`,
      `present.${2 * layer}.${tensor}`,
    ];
    expect(await refusal({ names })).toMatch(/not complete: key of layer 1, value of layer 1/);
  });

  it('query heads that nothing says', async () => {
    expect(await refusal({}, {})).toMatch(/num_attention_heads/);
    expect(await refusal({}, { num_attention_heads: 3 })).toMatch(/a multiple of 2/);
  });

  it('an input that is not known', async () => {
    const tiny = tinyDecoder((context) => {
      const { graph } = context;
      return graph.node('Add', [cached()(context), graph.input('something_new', [1])]);
    });
    await expect(openTiny(tiny)).rejects.toThrow(/not known: something_new/);
  });
});

/** As exporters for fixed shapes do: a token at a time. */
function oneToken(tiny: TinyDecoder): TinyDecoder {
  const tokens = tiny.model.graph?.input.find(({ name }) => name === 'input_ids');
  if (tokens?.type?.value.case !== 'tensorType') throw new Error('no tokens');
  for (const dim of tokens.type.value.value.shape?.dim ?? [])
    dim.value = { case: 'dimValue', value: 1n };
  return tiny;
}

/** Logits of the last token alone, whatever is asked. */
function lastLogits(tiny: TinyDecoder): TinyDecoder {
  const graph = tiny.model.graph;
  const head = graph?.node.find(({ name }) => name === 'lm_head');
  if (graph === undefined || head === undefined) throw new Error('no logits');
  head.output = ['all_logits'];
  const extra = new GraphWriter({ elementType: tiny.elementType, opset: 18, seed: 1 });
  extra.node('Gather', ['all_logits', extra.ints(-1)], {
    attributes: { axis: 1 },
    outputs: ['logits'],
  });
  const { node = [], initializer = [] } = extra.model().graph ?? {};
  graph.node.push(...node);
  graph.initializer.push(...initializer);
  return tiny;
}

it.each([
  ['a token at a time', oneToken(tinyDecoder(cached()))],
  ['a token at a time into a fixed cache', oneToken(tinyDecoder(cached({ slots: 'end' })))],
  ['the last logits alone', lastLogits(tinyDecoder(cached()))],
])('%s: prompts are run by single tokens', async (_, tiny) => {
  const expected = await runWhole(tinyDecoder(cached({ mask: 'none' })), TOKENS);
  const decoder = await openTiny(tiny, CONFIG);
  const run = await startRun(decoder, F16, TOKENS.length);
  const logits = await extendBy(run, decoder.vocabularySize, TOKENS, PIECES);
  expect(maxAbsDifference(logits, expected)).toBeLessThan(F16_PAST);
  await run.dispose();
  await decoder.dispose();
});

it('a fixed cache ends where it ends', async () => {
  const tiny = tinyDecoder(cached({ slots: 'end' }));
  const decoder = await openTiny(tiny, CONFIG);
  expect(decoder.contextLimit).toBe(CAPACITY);
  const run = await startRun(decoder, F16, 2 * CAPACITY);
  await run.extend(Array(CAPACITY - 1).fill(3));
  await expect(run.extend([1, 2])).rejects.toThrow(/than the context of the model has.*40/);
  expect(run.length).toBe(CAPACITY - 1);
  await run.extend([1]);
  await run.dispose();
  await decoder.dispose();
});
