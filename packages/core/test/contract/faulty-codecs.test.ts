// The contract suite catches codecs that break what it checks.
import { expect, test } from 'vitest';
import { type SchemeContractOptions, schemeChecks } from '../../src/contract/index.js';
import { defineScheme, type GroupCodec, type Scheme } from '../../src/index.js';
import { inlineScheme, sharedExponentCodec, withSharedExponent } from '../../src/testing/index.js';

const sound = sharedExponentCodec(32);
const key = withSharedExponent({ along: 'channels', size: 32 }, 32);

const schemeWith = (...codecs: readonly GroupCodec[]): Scheme =>
  defineScheme(inlineScheme({ key, value: key, codecs }));

async function failure(
  scheme: Scheme,
  name: string,
  options?: SchemeContractOptions,
): Promise<string> {
  const found = schemeChecks(scheme, options).find((check) => check.name.startsWith(name));
  if (found === undefined) throw new Error(`no check ${name}`);
  try {
    await found.run();
    return 'passed';
  } catch (error) {
    return String(error);
  }
}

const CODEC = 'codec shared-exponent-32';

test('a sound codec passes every check of a scheme', async () => {
  for (const { name, run } of schemeChecks(schemeWith(sound))) {
    try {
      await run();
    } catch (error) {
      // A codec promises no grid.
      expect(String(error), name).toContain('ContractSkip');
      expect(name).toBe('values on the grid come back to the bit, ties go to even');
    }
  }
});

test('a scheme without codecs has no such check', () => {
  const scheme = defineScheme(inlineScheme({ key: { bits: 16 }, value: { bits: 16 } }));
  expect(schemeChecks(scheme).filter(({ name }) => name.includes('codec'))).toEqual([]);
});

let calls = 0;
const faults: [string, Partial<GroupCodec>, RegExp][] = [
  [
    'bytes that depend on earlier calls',
    {
      encodeGroup(values, bytes) {
        sound.encodeGroup(values, bytes);
        bytes[5] = calls++ & 255;
      },
    },
    /bytes of a second call/,
  ],
  [
    'bytes that it leaves as they were',
    {
      encodeGroup(values, bytes) {
        const last = bytes[16] as number;
        sound.encodeGroup(values, bytes);
        bytes[16] = last;
      },
    },
    /bytes of a second call/,
  ],
  [
    'a byte past its group',
    {
      encodeGroup(values, bytes) {
        sound.encodeGroup(values, bytes);
        new Uint8Array(bytes.buffer, bytes.byteOffset + 17, 1)[0] = 7;
      },
    },
    /encodeGroup, .* wrote at 17/,
  ],
  [
    'a value before its group',
    {
      decodeGroup(bytes, values) {
        sound.decodeGroup(bytes, values);
        new Float32Array(values.buffer, values.byteOffset - 4, 1)[0] = 7;
      },
    },
    /decodeGroup, .* wrote at -1/,
  ],
  [
    'values that it changes',
    {
      encodeGroup(values, bytes) {
        values.sort();
        sound.encodeGroup(values, bytes);
      },
    },
    /values after encodeGroup/,
  ],
  [
    'values that it leaves as they were',
    {
      decodeGroup(bytes, values) {
        const last = values[31] as number;
        sound.decodeGroup(bytes, values);
        values[31] = last;
      },
    },
    /decoded twice|decodes to NaN/,
  ],
  [
    'NaN for masked input',
    {
      encodeGroup(values, bytes) {
        sound.encodeGroup(values, bytes);
        if (values.some(Number.isNaN)) bytes[0] = 0;
      },
      decodeGroup(bytes, values) {
        sound.decodeGroup(bytes, values);
        if (bytes[0] === 0) values.fill(Number.NaN);
      },
    },
    /NaN and infinities among numbers decodes to NaN/,
  ],
  [
    'an exception for large values',
    {
      encodeGroup(values, bytes) {
        if (values.some((value) => value > 65504)) throw new RangeError('too large');
        sound.encodeGroup(values, bytes);
      },
    },
    /too large/,
  ],
];

test.each(faults)('%s', async (_name, change, message) => {
  expect(await failure(schemeWith({ ...sound, ...change }), CODEC)).toMatch(message);
});

test('groups whose range exceeds f16 may be excused, no others', async () => {
  const nanFrom = (largest: number) =>
    schemeWith({
      ...sound,
      encodeGroup(values, bytes) {
        sound.encodeGroup(values, bytes);
        const range = Math.max(...values) - Math.min(...values);
        if (!(range <= largest)) bytes.fill(255);
      },
      decodeGroup(bytes, values) {
        sound.decodeGroup(bytes, values);
        if (bytes.every((byte) => byte === 255)) values.fill(Number.NaN);
      },
    });
  expect(await failure(nanFrom(65504), CODEC)).toMatch(/decodes to NaN/);
  expect(await failure(nanFrom(65504), CODEC, { mayOverflow: true })).toBe('passed');
  expect(await failure(nanFrom(1000), CODEC, { mayOverflow: true })).toMatch(/decodes to NaN/);
});

test('a codec that nobody names, and one that is not there', async () => {
  const name = 'brings the codecs that it names';
  const spare = schemeWith(sound, sharedExponentCodec(64));
  expect(await failure(spare, name)).toContain('shared-exponent-64');
  const { codecs: _, ...without } = spare;
  expect(await failure(Object.freeze(without), name)).toContain('shared-exponent-32');
});

test('a codec that loses everything is caught where values are checked', async () => {
  const zeros = {
    ...sound,
    decodeGroup: (_: Uint8Array, values: Float32Array) => void values.fill(0),
  };
  const name = 'the error of packed values is what their bits allow';
  expect(await failure(schemeWith(zeros), name)).toMatch(/relative error 1 /);
});
