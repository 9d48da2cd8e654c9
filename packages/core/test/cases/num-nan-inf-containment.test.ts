// num-nan-inf-containment: one value that is not finite, refused or kept to its own group.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LowbitKvError } from '../../src/errors.js';
import { f32ToF16 } from '../../src/float16.js';
import {
  type Cache,
  f16Tensor,
  f32Tensor,
  type QuantizedTensorScheme,
  type Sequence,
} from '../../src/index.js';
import { unpackCodes } from '../../src/law/bits.js';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import { readNumber } from '../../src/law/page-bytes.js';
import { parameterValue } from '../../src/law/parameters.js';
import { PARAMETER_BYTES } from '../../src/plan/layout.js';
import { validatePage } from '../../src/plan/validate-page.js';
import {
  asymmetric,
  e4m3Levels,
  headsFirstToRagged,
  lcgNormal,
  levelTable,
  type NormalRecipe,
  offsetLevelTable,
  symmetric,
  withTop,
  withTypes,
} from '../../src/testing/index.js';
import { groupScheme } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { attended, cacheOf, filled } from './num-support.js';

const { input, expected } = loadCase<
  {
    recipe: NormalRecipe<'f16'>;
    poison: { tensor: 'K' | 'V'; index: [number, number, number, number]; value: number }[];
  },
  { sha256OfCleanInput: string }
>('num-nan-inf-containment');
const [, HEADS, TOKENS, DIM] = input.recipe.shape as [number, number, number, number];
const drawn = lcgNormal(input.recipe);
const CLEAN = headsFirstToRagged(drawn, { heads: HEADS, tokens: TOKENS, dim: DIM });
const geometry = { layers: 1, queryHeads: 4, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM };
const query = Float32Array.from({ length: 4 * DIM }, (_, i) => Math.cos(i) / 4);

const HYBRID = {
  mode: 'hybrid',
  codes: 'full',
  asymmetricBits: 2,
  norm: 'l1',
  tie: 'symmetric',
} as const;
const SCHEMES: [string, QuantizedTensorScheme][] = (['tokens', 'channels'] as const).flatMap(
  (along): [string, QuantizedTensorScheme][] => [
    [
      `2-bit asymmetric along ${along}`,
      groupScheme(2, along, 32, { mode: 'asymmetric', codes: 'uniform' }),
    ],
    [
      `4-bit asymmetric along ${along}`,
      groupScheme(4, along, 32, { mode: 'asymmetric', codes: 'uniform' }),
    ],
    [
      `3-bit symmetric along ${along}`,
      groupScheme(3, along, 32, { mode: 'symmetric', codes: 'full' }),
    ],
    [
      `signed symmetric along ${along}`,
      groupScheme(4, along, 32, { mode: 'symmetric', codes: 'fullSigned' }),
    ],
    [`hybrid along ${along}`, groupScheme(2, along, 32, HYBRID)],
    [`powers of two along ${along}`, withTypes(symmetric(4, 'signmag', along, 32), 3)],
    [`e4m3 scales along ${along}`, withTypes(asymmetric(3, along, 32), 2)],
    [`f32 hybrid along ${along}`, withTypes(groupScheme(2, along, 32, HYBRID), 1)],
    [
      `root mean squares along ${along}`,
      levelTable(2, { levels: [-1.5, -0.5, 0.5, 1.5], scaledBy: 'rootMeanSquare' }, along, 32),
    ],
    [
      `a table without a scale along ${along}`,
      levelTable(8, { levels: e4m3Levels(), scaledBy: 'none' }, along, 32),
    ],
    [`a table over a zero along ${along}`, offsetLevelTable(2, [0, 0.2, 1], along, 32)],
  ],
);

function poisoned({ index, value }: (typeof input.poison)[number]): Uint16Array {
  const [, head, token, channel] = index;
  const bits = CLEAN.slice();
  bits[(token * HEADS + head) * DIM + channel] = f32ToF16(value);
  return bits;
}

const open = (scheme: QuantizedTensorScheme, nonFinite: 'error' | 'mask') =>
  cacheOf(scheme, scheme, geometry, { tokens: TOKENS, nonFinite });

it('starts from the input of the case', () => {
  const bytes = new Uint8Array(drawn.buffer, drawn.byteOffset, drawn.byteLength);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(expected.sha256OfCleanInput);
});

describe.each(SCHEMES)('%s', (_name, scheme) => {
  it.each(input.poison)(
    'refuses $value in $tensor by position, and stores nothing',
    async (poison) => {
      const cache = await open(scheme, 'error');
      const bits = poisoned(poison);
      const key = poison.tensor === 'K' ? bits : CLEAN;
      const value = poison.tensor === 'V' ? bits : CLEAN;
      const [sequenceIndex, head, token, channel] = poison.index;
      const sequence = cache.createSequence();
      const before = JSON.stringify(await cache.stats());
      const tensor = (data: Uint16Array) => f16Tensor(data, [TOKENS, HEADS, DIM]);
      const refused = await cache
        .append([{ sequence, tokens: TOKENS }], [{ key: tensor(key), value: tensor(value) }])
        .catch((error: unknown) => error);
      expect(LowbitKvError.is(refused, 'NON_FINITE')).toBe(true);
      expect((refused as LowbitKvError).where).toEqual({
        tensor: poison.tensor === 'K' ? 'key' : 'value',
        layer: 0,
        sequence: sequenceIndex,
        head,
        token,
        channel,
      });
      expect(sequence.length).toBe(0);
      expect(JSON.stringify(await cache.stats())).toBe(before);
      // The same sequence then takes the clean input as if nothing had happened.
      await cache.append(
        [{ sequence, tokens: TOKENS }],
        [{ key: tensor(CLEAN), value: tensor(CLEAN) }],
      );
      const clean = await open(scheme, 'error');
      const other = await filled(clean, TOKENS, CLEAN, CLEAN);
      expect(await cache.exportBlocks(sequence, 0, 'key')).toEqual(
        await clean.exportBlocks(other, 0, 'key'),
      );
    },
  );

  it.each(input.poison)('with mask, $value in $tensor stays in its group', async (poison) => {
    const bits = poisoned(poison);
    const cache = await open(scheme, 'mask');
    const key = poison.tensor === 'K' ? bits : CLEAN;
    const value = poison.tensor === 'V' ? bits : CLEAN;
    const sequence = await filled(cache, TOKENS, key, value);
    const clean = await open(scheme, 'mask');
    const reference = await filled(clean, TOKENS, CLEAN, CLEAN);
    for (const tensor of ['key', 'value'] as const) {
      const isPoisoned = tensor === (poison.tensor === 'K' ? 'key' : 'value');
      const plan = cache.plan.layers[0]![tensor] as PackedTensorPlan;
      const actual = await groupsOf(cache, sequence, plan);
      const wanted = await groupsOf(clean, reference, plan);
      expect([...actual.keys()]).toEqual([...wanted.keys()]);
      const different = [...actual.keys()].filter(
        (name) => JSON.stringify(actual.get(name)) !== JSON.stringify(wanted.get(name)),
      );
      const [, head, token, channel] = poison.index;
      const own =
        plan.layout.tokensPerGroup > 1
          ? `${head} ${Math.floor(token / 32)} ${channel}`
          : `${head} ${token} ${Math.floor(channel / 32)}`;
      if (!isPoisoned) expect(different).toEqual([]);
      else for (const name of different) expect(name).toBe(own);
      for (const group of actual.values())
        expect(group.parameters.every(Number.isFinite)).toBe(true);
    }
    const output = await attended(cache, sequence, query);
    const wanted = await attended(clean, reference, query);
    // Query heads 0 and 1 read kv head 0.
    expect(output.subarray(0, 2 * DIM)).toEqual(wanted.subarray(0, 2 * DIM));
    expect(wanted.subarray(0, 2 * DIM).some((v) => v !== 0)).toBe(true);
  });
});

it.each(['tokens', 'channels'] as const)(
  'with mask, top outliers stay finite and in their token, groups along %s',
  async (along) => {
    const scheme = withTop(asymmetric(4, along, 32), 2);
    const clean = await open(scheme, 'mask');
    const reference = await filled(clean, TOKENS, CLEAN, CLEAN);
    const wanted = await clean.materialize(reference, 0);
    for (const poison of input.poison) {
      const cache = await open(scheme, 'mask');
      const sequence = await filled(cache, TOKENS, poisoned(poison), CLEAN);
      const { key } = await cache.materialize(sequence, 0);
      const [, head, token] = poison.index;
      const group = along === 'tokens' ? Math.floor(token / 32) : token;
      for (let i = 0; i < key.data.length; i++) {
        const at = Math.floor(i / (HEADS * DIM));
        const sameRows = (along === 'tokens' ? Math.floor(at / 32) : at) === group;
        if (sameRows && Math.floor(i / DIM) % HEADS === head) continue;
        expect(key.data[i]).toBe(wanted.key.data[i]);
      }
      const plan = cache.plan.layers[0]!.key as PackedTensorPlan;
      for (const { bytes, validTokens } of await cache.exportBlocks(sequence, 0, 'key'))
        expect(() => validatePage(plan, bytes, validTokens)).not.toThrow();
    }
  },
);

it('refuses f32 input that f16 cannot hold, by the value given', async () => {
  const cache = await open(SCHEMES[0]![1], 'error');
  const sequence = cache.createSequence();
  const data = new Float32Array(2 * HEADS * DIM);
  data[(1 * HEADS + 1) * DIM + 5] = 65520;
  const bad = f32Tensor(data, [2, HEADS, DIM]);
  const good = f32Tensor(new Float32Array(data.length), [2, HEADS, DIM]);
  const refused = await cache
    .append([{ sequence, tokens: 2 }], [{ key: good, value: bad }])
    .catch((error: unknown) => error as LowbitKvError);
  expect(refused).toMatchObject({
    code: 'NON_FINITE',
    value: 65520,
    where: { tensor: 'value', layer: 0, sequence: 0, head: 1, token: 1, channel: 5 },
  });
});

interface Group {
  readonly codes: number[];
  readonly parameters: number[];
}

/** Codes and parameters of every group, by head, row and column of its parameter. */
async function groupsOf(
  cache: Cache,
  sequence: Sequence,
  plan: PackedTensorPlan,
): Promise<Map<string, Group>> {
  const { layout } = plan;
  const alongTokens = layout.tokensPerGroup > 1;
  const size = alongTokens ? layout.tokensPerGroup : layout.channelsPerGroup;
  const columns = layout.headDim / layout.channelsPerGroup;
  const groups = new Map<string, Group>();
  for (const block of await cache.exportBlocks(sequence, 0, plan.tensor)) {
    const rows = block.validTokens / layout.tokensPerGroup;
    for (let head = 0; head < layout.heads; head++) {
      const base = head * layout.headBytes;
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          const codes = new Uint8Array(size);
          const offset = base + (alongTokens ? column : row) * layout.codes.rowBytes;
          unpackCodes(
            block.bytes,
            offset,
            (alongTokens ? row : column) * size,
            size,
            layout.bits,
            codes,
            0,
          );
          groups.set(`${head} ${block.position / layout.tokensPerGroup + row} ${column}`, {
            codes: [...codes],
            parameters: layout.parameters.map(({ type, offset }) => {
              const bytes = PARAMETER_BYTES[type];
              const entry = base + offset + bytes * (row * columns + column);
              return parameterValue(type)(readNumber(block.bytes, entry, bytes));
            }),
          });
        }
      }
    }
  }
  expect(groups.size).toBe((layout.heads * TOKENS * layout.headDim) / size);
  return groups;
}
