// The golden end states of KIVI's attention layer, and its sizes by step, through the real cache.
import { decodeF16, type Scheme } from '@lowbit-kv/core';
import { headsFirstToRagged, raggedToHeadsFirst } from '@lowbit-kv/core/testing';
import { Tally } from '../../../core/test/support/acceptance.js';
import { DrivenCache } from '../../../core/test/support/driven-cache.js';
import { countDifferent, readCacheRows } from '../../../core/test/support/golden-file.js';
import { kiviFp16 } from '../../src/compat/index.js';
import type { KiviOptions } from '../../src/index.js';
import { golden } from './cases.js';

export interface EndToEndCase {
  readonly key: string;
  readonly L: number;
  readonly steps: number;
  readonly R: number;
  readonly group: 32;
  readonly bits: 2 | 4;
  readonly kv_heads: number;
  readonly head_dim: number;
  readonly final: readonly number[];
}

export const endToEnd = golden.list<EndToEndCase>('e2e');

interface SizeCase {
  readonly L: number;
  readonly R: number;
  readonly bits: 2 | 4;
  readonly steps: number;
  readonly rows: readonly number[][];
}

export const { columns, cases: sizeCases } = readCacheRows('kivi') as unknown as {
  readonly columns: readonly string[];
  readonly cases: readonly SizeCase[];
};

/** A prompt in one step, then token by token; what every page holds against the original's final cache. */
export async function compareEndState(one: EndToEndCase) {
  const { key, L, steps, R, bits, group, kv_heads: kvHeads, head_dim: headDim } = one;
  const tokens = L + steps;
  const shape = { heads: kvHeads, tokens, dim: headDim };
  const cache = await DrivenCache.open(kiviFp16({ bits, groupSize: group, residualLength: R }), {
    tokens,
    kvHeads,
    headDim,
    key: headsFirstToRagged(golden.f16(`${key}.k`), shape),
    value: headsFirstToRagged(golden.f16(`${key}.v`), shape),
  });
  await cache.append(L);
  await cache.decodeTo(tokens);

  const [words, parameters, tails] = [new Tally(), new Tally(), new Tally()];
  for (const tensor of ['key', 'value'] as const) {
    const name = `${key}.${tensor === 'key' ? 'k' : 'v'}`;
    const expected = {
      words: golden.i32(`${name}_words`),
      scale: golden.f16Values(`${name}_scale`),
      minimum: golden.f16Values(`${name}_mn`),
    };
    const groupsOfHead = expected.scale.length / kvHeads;
    const wordsPerGroup = (group * bits) / 32;
    for (const found of await storedGroups(cache, tensor, wordsPerGroup)) {
      // Per head `[channel, group]` of keys, `[token, group]` of values.
      const at =
        found.head * groupsOfHead +
        (tensor === 'key'
          ? found.within * (groupsOfHead / headDim) + found.token / group
          : found.token * (headDim / group) + found.within);
      const first = at * wordsPerGroup;
      const there = expected.words.subarray(first, first + wordsPerGroup);
      words.add(countDifferent(found.words, there), wordsPerGroup);
      const both = [expected.scale[at] as number, expected.minimum[at] as number];
      parameters.add(countDifferent(found.parameters, both), 2);
    }
    const materialized = await cache.materialize();
    const held = raggedToHeadsFirst(materialized[tensor], shape);
    const tail = golden.has(`${name}_tail`) ? golden.f16Values(`${name}_tail`) : [];
    const tailTokens = tail.length / (kvHeads * headDim);
    for (let head = 0; head < kvHeads; head++) {
      const end = (head + 1) * tokens * headDim;
      const size = tailTokens * headDim;
      const there = tail.slice(head * size, (head + 1) * size);
      tails.add(countDifferent(held.subarray(end - size, end), there), size);
    }
  }
  return {
    words: words.share,
    parameters: parameters.share,
    tails: tails.share,
    windows: await cache.windows(),
  };
}

interface StoredGroup {
  readonly head: number;
  /** First token. */
  readonly token: number;
  /** Position among the groups of one token, or of `group` tokens. */
  readonly within: number;
  readonly words: Int32Array;
  readonly parameters: Float32Array;
}

/** Every valid group in the canonical pages. */
async function storedGroups(
  cache: DrivenCache,
  tensor: 'key' | 'value',
  wordsPerGroup: number,
): Promise<StoredGroup[]> {
  const layout = cache.plan.layers[0]?.[tensor].layout;
  if (layout === undefined || layout === null) throw new Error(`the ${tensor}s are not packed`);
  const { heads, headBytes, codes, tokensPerGroup, channelsPerGroup, headDim } = layout;
  const groupsPerRun = headDim / channelsPerGroup;
  const groups: StoredGroup[] = [];
  for (const { position, validTokens, bytes } of await cache.blocks(tensor)) {
    for (let head = 0; head < heads; head++) {
      for (let i = 0; i < (validTokens / tokensPerGroup) * groupsPerRun; i++) {
        const at = head * headBytes + codes.offset + i * codes.rowBytes;
        const encoded = bytes.slice(at, at + codes.rowBytes).buffer;
        groups.push({
          head,
          token: position + Math.floor(i / groupsPerRun) * tokensPerGroup,
          within: i % groupsPerRun,
          words: new Int32Array(encoded, 0, wordsPerGroup),
          parameters: decodeF16(new Uint16Array(encoded, 4 * wordsPerGroup, 2)),
        });
      }
    }
  }
  return groups;
}

/** Sizes after the prompt and after every step, in the columns of the golden rows. */
export async function cacheRows({ L, R, bits, steps }: SizeCase, make: (o: KiviOptions) => Scheme) {
  const scheme = make({ bits, residualLength: R });
  const cache = await DrivenCache.open(scheme, { tokens: L + steps });
  const rows: number[][] = [];
  await cache.append(L);
  for (let step = 0; step <= steps; step++) {
    if (step > 0) await cache.append(1);
    const { key, value } = await cache.windows();
    rows.push([step, key.packed, key.tail, value.packed, value.tail]);
  }
  return rows;
}
