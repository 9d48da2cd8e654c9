// Events as lines: what a person who looks for a fault reads.
import { expect, it } from 'vitest';
import {
  createCache,
  createPlan,
  eventText,
  f32Tensor,
  observeBackend,
  referenceBackend,
} from '../../src/index.js';
import { doctored } from '../support/doctored-backends.js';
import { appendIds, GEOMETRY } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';
import { geometry, split } from '../support/split-heads.js';

const TIME = /\d+\.\d{3} ms/;

it('a run reads from the plan to the end', async () => {
  const lines: string[] = [];
  const backend = observeBackend(referenceBackend(), {
    values: true,
    onEvent: (event) => lines.push(eventText(event).replace(TIME, 'T ms')),
  });
  const plan = createPlan(channelKeys(), { ...GEOMETRY, slidingWindow: { size: 64, sinks: 2 } });
  const cache = await createCache(plan, backend, { capacity: { tokens: 64 } });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, [0, 1]);
  const query = f32Tensor(new Float32Array(128).fill(0.5), [1, 2, 64]);
  await cache.attend(0, query, [sequence], { logSumExp: true }).read();
  await cache.materialize(sequence, 0);
  cache.dispose();
  expect(lines.map((line) => line.replaceAll(plan.fingerprint, 'FP'))).toMatchInlineSnapshot(`
    [
      "reference call 1 supports start: scheme channel-keys-4bit, plan FP, 1 layer",
      "reference call 1 supports end: T ms; native",
      "reference call 2 probe start",
      "reference call 2 probe end: T ms; TypeScript, float64 attention",
      "reference store 1 call 3 create-store start: scheme channel-keys-4bit, plan FP, 1 layer; layers 0, kv heads 0, 2 query heads on 1 kv head, head dims 64 and 64, a sliding window of 64 after 2 sinks, keys (4 bit, groups of 1 token x 32 channels, 32 tokens in 1280 bytes, class 0), values (4 bit, groups of 32 tokens x 1 channel, 32 tokens in 1280 bytes, class 1); class 0 has 3 packed, 0 window and 0 statistics pages; class 1 has 3 packed, 3 window and 0 statistics pages; non-finite values: error",
      "reference store 1 call 3 create-store end: T ms; 19968 bytes allocated",
      "reference store 1 call 4 append start: step 0, layer 0, 2 tokens of 1 sequence; key f16 [2, 1, 64], 256 bytes, -6.97 to 6.97, rms 6.97, 0 tokens to windows, 2 packed; value f16 [2, 1, 64], 256 bytes, -0.872 to 0.872, rms 0.872, 2 tokens to windows, 0 packed",
      "reference store 1 call 4 append end: T ms",
      "reference store 1 call 5 settle start: step 0",
      "reference store 1 call 5 settle end: T ms",
      "reference store 1 call 6 attend start: no step, layer 0, 1 sequence of 2 tokens; query f32 [1, 2, 64], 512 bytes, 0.5 to 0.5, rms 0.5; keys 2 packed, 0 in windows, 0 new; values 0 packed, 2 in windows, 0 new; log-sum-exp too",
      "reference store 1 call 6 attend end: T ms",
      "reference store 1 call 7 read start: layer 0, the result of call 6",
      "reference store 1 call 7 read end: T ms; 520 bytes",
      "reference store 1 call 8 read-pages start: layer 0, 1 packed page of keys",
      "reference store 1 call 8 read-pages end: T ms; 1280 bytes",
      "reference store 1 call 9 read-pages start: layer 0, 1 window page of values",
      "reference store 1 call 9 read-pages end: T ms; 4096 bytes",
      "reference store 1 call 10 dispose start",
      "reference store 1 call 10 dispose end: T ms",
    ]
  `);
});

it('heads of their own, statistics and several layers', async () => {
  const lines: string[] = [];
  const observed = observeBackend(referenceBackend(), {
    onEvent: (event) => lines.push(eventText(event)),
  });
  await createCache(createPlan(split, { ...geometry, layers: 4 }), observed, {
    capacity: { tokens: 64 },
  });
  const plan = lines.find((line) => line.includes('create-store start'));
  expect(plan?.split('; ').slice(1)).toMatchInlineSnapshot(`
    [
      "layers 0, kv heads 0, 2 query heads on 1 kv head, head dims 32 and 48, keys (4 bit, channelScale, groups of 16 tokens x 1 channel, 128 tokens in 3072 bytes, class 0), values (3 bit, groups of 1 token x 16 channels, 128 tokens in 3328 bytes, class 1)",
      "layers 0, kv heads 1, 3, 4 query heads on 2 kv heads, head dims 32 and 48, keys (8 bit, groups of 1 token x 16 channels, 128 tokens in 10240 bytes, class 2), values (3 bit, groups of 1 token x 16 channels, 128 tokens in 6656 bytes, class 1)",
      "layers 0, kv heads 2, 2 query heads on 1 kv head, head dims 32 and 48, keys (16 bit, class 3), values (3 bit, groups of 1 token x 16 channels, 128 tokens in 3328 bytes, class 1)",
      "layers 1, 3, kv heads 0-3, 8 query heads on 4 kv heads, head dims 32 and 48, keys (4 bit, channelScale, groups of 16 tokens x 1 channel, 128 tokens in 12288 bytes, class 0), values (3 bit, groups of 1 token x 16 channels, 128 tokens in 13312 bytes, class 1)",
      "layers 2, kv heads 0-1, 3, 6 query heads on 3 kv heads, head dims 32 and 48, keys (4 bit, channelScale, groups of 16 tokens x 1 channel, 128 tokens in 9216 bytes, class 0), values (3 bit, groups of 1 token x 16 channels, 128 tokens in 9984 bytes, class 1)",
      "layers 2, kv heads 2, 2 query heads on 1 kv head, head dims 32 and 48, keys (4 bit, channelScale, groups of 16 tokens x 1 channel, 128 tokens in 3072 bytes, class 0), values (16 bit, class 4)",
      "class 0 has 2 packed, 4 window and 1 statistics pages",
      "class 1 has 2 packed, 4 window and 0 statistics pages",
      "class 2 has 2 packed, 1 window and 0 statistics pages",
      "class 3 has 0 packed, 3 window and 0 statistics pages",
      "class 4 has 0 packed, 3 window and 0 statistics pages",
      "non-finite values: error",
    ]
  `);
});

it('a fault stays on one line', async () => {
  const lines: string[] = [];
  const broken = doctored(() => ({
    attend: () => {
      throw new Error('first\n  second\r\nthird');
    },
  }));
  const backend = observeBackend(broken, { onEvent: (event) => lines.push(eventText(event)) });
  const cache = await createCache(createPlan(channelKeys(), GEOMETRY), backend, {
    capacity: { tokens: 64 },
  });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, [0]);
  const query = f32Tensor(new Float32Array(128), [1, 2, 64]);
  expect(() => cache.attend(0, query, [sequence])).toThrow(/first/);
  expect(lines.at(-1)).toMatch(
    /^doctored store 1 call \d+ attend fault: [\d.]+ ms; first second third$/,
  );
});
