// Groups of packed pages in numbers: every golden page, and values after transforms.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GOLDEN_CASES, goldenPlan } from '../../scripts/golden-cases.js';
import type { PackedTensorPlan, PageClass, QuantizedTensorScheme } from '../../src/index.js';
import {
  codeLevels,
  createCache,
  createPlan,
  decodeTokens,
  f16Tensor,
  referenceBackend,
  storedGroup,
  transformTokens,
} from '../../src/index.js';
import {
  asymmetric,
  channelScaled,
  hybrid,
  inlineScheme,
  lcgNormal,
  symmetric,
} from '../../src/testing/index.js';

const golden = (name: string) => readFileSync(new URL(`../golden/${name}`, import.meta.url));

describe.each(GOLDEN_CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
  const plan = goldenPlan(one).layers[0]?.key as PackedTensorPlan;
  const { heads, headDim, tokensPerGroup, channelsPerGroup, bits, sparse, top } = plan.layout;
  const page = new Uint8Array(golden(`${one.name}.page.bin`));
  const bytes = golden(`${one.name}.decoded.bin`);
  const decodedAt = (slot: number, head: number, channel: number) =>
    bytes.readFloatLE(4 * ((slot * heads + head) * headDim + channel));
  const elements = Array.from({ length: 5 }, (__, i) => ({
    head: i % heads,
    slot: (5 * i) % one.validTokens,
    channel: (7 * i) % headDim,
  }));

  test.each(elements)('the group of $head, $slot, $channel is the golden one', (element) => {
    const { head, slot, channel } = element;
    const { codes, values, parameters } = storedGroup(plan, page, one.validTokens, element);
    const firstSlot = slot - (slot % tokensPerGroup);
    const firstChannel = channel - (channel % channelsPerGroup);
    const size =
      channelsPerGroup === 1
        ? Math.min(tokensPerGroup, one.validTokens - firstSlot)
        : channelsPerGroup;
    const expected = Array.from({ length: size }, (__, i) =>
      channelsPerGroup === 1
        ? decodedAt(firstSlot + i, head, channel)
        : decodedAt(slot, head, firstChannel + i),
    );
    expect(values).toEqual(expected);
    expect(parameters.map(({ name }) => name)).toEqual(
      plan.layout.parameters.map(({ name }) => name),
    );
    if (plan.layout.codes.rows === 'groups') return expect(codes).toBeNull();
    expect(codes).toHaveLength(size);
    const { quantizer } = plan.scheme;
    const [scale, zero] = parameters.map(({ value }) => value) as [number, number];
    if (
      quantizer.mode !== 'asymmetric' ||
      quantizer.codes !== 'uniform' ||
      sparse !== null ||
      top !== undefined
    )
      return;
    expect(codes?.map((code) => Math.fround(Math.fround(code * scale) + zero))).toEqual(expected);
  });

  test.each(elements)('the levels of $head, $slot, $channel hold its value', (element) => {
    const before = page.slice();
    const levels = codeLevels(plan, page, element);
    expect(page).toEqual(before);
    if (plan.layout.codes.rows === 'groups') return expect(levels).toBeNull();
    const list = levels as number[];
    expect(list).toEqual([...new Set(list)].sort((a, b) => a - b));
    expect(list.length).toBeLessThanOrEqual(2 ** bits);
    const { values } = storedGroup(plan, page, one.validTokens, element);
    const among = values.filter((value) => list.includes(value)).length;
    if (sparse === null && top === undefined) expect(among).toBe(values.length);
    // A channel may hold outliers at every token.
    else expect(among).toBeGreaterThan(channelsPerGroup === 1 ? 0 : values.length / 2);
  });
});

const plain: Record<string, QuantizedTensorScheme> = {
  asymmetric: asymmetric(3, 'tokens', 32),
  signmag: symmetric(4, 'signmag', 'channels', 16),
  fullSigned: symmetric(3, 'fullSigned', 'channels', 32),
  hybrid: hybrid(3, 'full', 3, 'symmetric', 'tokens', 32),
};
const moved = Object.entries(plain).flatMap(([name, tensor]) => [
  [name, tensor] as const,
  [`${name} after a rotation`, { ...tensor, transforms: [{ kind: 'hadamard', seed: 3 }] }] as const,
  [`${name} of scaled channels`, channelScaled(tensor, 40)] as const,
]);

test.each(moved)('%s: values go to the nearest of their levels', async (_, tensor) => {
  const scheme = inlineScheme({
    key: tensor as QuantizedTensorScheme,
    value: { bits: 16 },
    sinks: 4,
  });
  const plan = createPlan(scheme, {
    layers: 1,
    queryHeads: 2,
    kvHeads: 2,
    keyHeadDim: 64,
    valueHeadDim: 2,
  });
  const shape = [132, 2, 64];
  const tokens = lcgNormal({
    seed: 9,
    shape,
    dtype: 'f16',
    channelOps: [{ channel: 5, mul: 9, add: 2 }],
  });
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 132 } });
  const sequence = cache.createSequence();
  const value = f16Tensor(new Uint16Array(132 * 4), [132, 2, 2]);
  await cache.append([{ sequence, tokens: 132 }], [{ key: f16Tensor(tokens, shape), value }]);
  const block = (await cache.exportBlocks(sequence, 0, 'key'))[0];
  cache.dispose();
  if (block === undefined) throw new Error('nothing was packed');
  const key = plan.layers[0]?.key as PackedTensorPlan;
  const { sinks, statisticsTokens } = plan.classes[key.class] as PageClass;
  const measured = tokens.subarray(sinks * 128, (sinks + statisticsTokens) * 128);
  const part = tokens.subarray(block.position * 128, (block.position + block.validTokens) * 128);
  const values = transformTokens(key, part, measured);
  const decoded = new Float32Array(64);
  for (let slot = 3; slot < block.validTokens; slot += 17) {
    const head = slot % 2;
    decodeTokens(key, block.bytes, head, slot, 1, decoded);
    for (const channel of [0, 5, 31, 63]) {
      const levels = codeLevels(key, block.bytes, { head, slot, channel }) as number[];
      const exact = values[(slot * 2 + head) * 64 + channel] as number;
      const least = Math.min(...levels.map((level) => Math.abs(level - exact)));
      expect(Math.abs((decoded[channel] as number) - exact)).toBeLessThanOrEqual(least + 1e-5);
    }
  }
});
