/**
 * The exported files in plain sessions, fed as docs/graphs.md says: no code of the backend runs here.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { exportOnnx } from '@lowbit-kv/backend-onnx';
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Geometry,
  LowbitKvError,
  type OutlierBands,
  type Plan,
  referenceBackend,
  type Scheme,
  type Sequence,
} from '@lowbit-kv/core';
import { lcgNormal, nmse, ONNX_ATTENTION_OUTPUT } from '@lowbit-kv/core/testing';
import { ModelProtoSchema } from 'onnx-buf';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { asymmetric, bands, calibrationFor, scheme, symmetric } from './support/schemes.js';
import {
  channelMean,
  channelScale,
  HADAMARD,
  rotation,
  transformed,
} from './support/transforms.js';

const HEADS = 2;
const QUERY_HEADS = 6;
const DIM = 64;

function planOf(target: Scheme, change: Partial<Geometry> = {}): Plan {
  const geometry = {
    layers: 1,
    queryHeads: QUERY_HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
    ...change,
  };
  const calibration = calibrationFor(target, geometry);
  return createPlan(target, geometry, {
    blockTokens: 32,
    ...(calibration === undefined ? {} : { calibration }),
  });
}

interface Filled {
  readonly plan: Plan;
  readonly cache: Cache;
  readonly sequence: Sequence;
  readonly key: Uint16Array;
  readonly value: Uint16Array;
}

async function fill(
  target: Scheme,
  tokens: number,
  change: Partial<Geometry> = {},
): Promise<Filled> {
  const plan = planOf(target, change);
  const cache = await createCache(plan, referenceBackend(), {
    capacity: { tokens, sequences: 1 },
  });
  const sequence = cache.createSequence();
  const shape = [tokens, HEADS, DIM];
  const key = lcgNormal({
    seed: 5,
    shape,
    dtype: 'f16',
    channelOps: [{ channel: 3, mul: 9, add: 0 }],
  });
  const value = lcgNormal({ seed: 6, shape, dtype: 'f16' });
  await cache.append(
    [{ sequence, tokens }],
    [{ key: f16Tensor(key, shape), value: f16Tensor(value, shape) }],
  );
  return { plan, cache, sequence, key, value };
}

/** The attention file on what a cache holds: blocks by position, the rest from the f16 data. */
async function plainAttention(
  { plan, cache, sequence, key, value }: Filled,
  query: Float32Array,
  extra: Record<string, ort.Tensor>,
): Promise<Float32Array> {
  const tokens = sequence.length;
  const { attention } = exportOnnx(plan, { layer: 0 });
  const feeds: Record<string, ort.Tensor> = {
    query: new ort.Tensor('float32', query, [1, QUERY_HEADS, DIM]),
    query_positions: int64([tokens - 1]),
    positions: int64(Array.from({ length: tokens }, (_, i) => i)),
    ...extra,
  };
  for (const [tensor, data] of [
    ['key', key],
    ['value', value],
  ] as const) {
    const blocks = await cache.exportBlocks(sequence, 0, tensor);
    const { blockTokens = 0, pageBytes = 0 } = plan.layers[0]?.[tensor].layout ?? {};
    const inBlock = new Map<number, number>();
    for (const [page, { position, validTokens }] of blocks.entries())
      for (let i = 0; i < validTokens; i++) inBlock.set(position + i, page * blockTokens + i);
    const loose = Array.from({ length: tokens }, (_, i) => i).filter((i) => !inBlock.has(i));
    const index = Array.from({ length: tokens }, (_, i) => {
      const slot = inBlock.get(i);
      return slot === undefined ? loose.indexOf(i) : loose.length + slot;
    });
    const width = HEADS * DIM;
    const rows = loose.flatMap((i) => [...data.subarray(i * width, (i + 1) * width)]);
    const bytes = blocks.flatMap((block) => [...block.bytes]);
    feeds[`${tensor}_index`] = int64(index);
    feeds[`${tensor}_tokens`] = new ort.Tensor('float16', Uint16Array.from(rows), [
      loose.length,
      HEADS,
      DIM,
    ]);
    feeds[`${tensor}_pages`] = new ort.Tensor('uint8', Uint8Array.from(bytes), [
      blocks.length,
      pageBytes,
    ]);
    if (plan.scheme[tensor].bits !== 16 && 'outliers' in plan.scheme[tensor]) {
      const valid = Int32Array.from(blocks, (block) => block.validTokens);
      feeds[`${tensor}_valid_tokens`] = new ort.Tensor('int32', valid, [blocks.length]);
    }
  }
  const session = await ort.InferenceSession.create(attention);
  try {
    return (await session.run(feeds)).output?.data as Float32Array;
  } finally {
    await session.release();
  }
}

function int64(values: readonly number[]): ort.Tensor {
  return new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]);
}

function metadataOf(model: Uint8Array): Record<string, string> {
  const { metadataProps } = fromBinary(ModelProtoSchema, model);
  return Object.fromEntries(metadataProps.map(({ key, value }) => [key, value]));
}

async function expectedOutput({ cache, sequence }: Filled, query: Float32Array) {
  const tensor = f32Tensor(query, [1, QUERY_HEADS, DIM]);
  const { output } = await cache.attend(0, tensor, [sequence]).read();
  return output.data;
}

const query = lcgNormal({ seed: 8, shape: [QUERY_HEADS, DIM], dtype: 'f32' });

describe('attention file', () => {
  it('packed keys and values with different boundaries', async () => {
    const filled = await fill(
      scheme({
        key: asymmetric(2, 'tokens', 32),
        value: symmetric(3, 'full', 'channels', 32, { recent: 10, flush: 1 }),
        sinks: 4,
      }),
      77,
    );
    const actual = await plainAttention(filled, query, {});
    expect(nmse(actual, await expectedOutput(filled, query))).toBeLessThanOrEqual(
      ONNX_ATTENTION_OUTPUT.value,
    );
  });

  it('outlier bands with the thresholds of the metadata', async () => {
    const filled = await fill(
      scheme({ key: bands('uniform', 'allHeads'), value: bands('midRise', 'head') }),
      50,
    );
    const metadata = metadataOf(exportOnnx(filled.plan, { layer: 0 }).attention);
    const thresholds = (tensor: string) => {
      const values = JSON.parse(metadata[`lowbit-kv.${tensor}_thresholds`] ?? '') as number[];
      return new ort.Tensor('float32', Float32Array.from(values), [4]);
    };
    const actual = await plainAttention(filled, query, {
      key_thresholds: thresholds('key'),
      value_thresholds: thresholds('value'),
    });
    expect(nmse(actual, await expectedOutput(filled, query))).toBeLessThanOrEqual(
      ONNX_ATTENTION_OUTPUT.value,
    );
  });

  it('transforms of keys and values, measured by their own files', async () => {
    const filled = await fill(
      scheme({
        key: transformed(
          symmetric(3, 'signmag', 'channels', 32),
          channelMean(24),
          channelScale(24),
          HADAMARD,
        ),
        value: transformed(asymmetric(4, 'tokens', 16), HADAMARD, channelMean(21)),
        sinks: 5,
      }),
      77,
    );
    const { keyStatistics, valueStatistics } = exportOnnx(filled.plan, { layer: 0 });
    const measured = async (file: Uint8Array | null, bits: Uint16Array, tokens: number) => {
      const session = await ort.InferenceSession.create(file as Uint8Array);
      const width = HEADS * DIM;
      const data = bits.slice(5 * width, (5 + tokens) * width);
      const result = await session.run({
        tokens: new ort.Tensor('float16', data, [tokens, HEADS, DIM]),
      });
      await session.release();
      return result.statistics as ort.Tensor;
    };
    const key = await measured(keyStatistics, filled.key, 24);
    const value = await measured(valueStatistics, filled.value, 21);
    expect([key.dims, value.dims]).toEqual([
      [2, HEADS, DIM],
      [1, HEADS, DIM],
    ]);
    const actual = await plainAttention(filled, query, {
      key_statistics: key,
      value_statistics: value,
    });
    expect(nmse(actual, await expectedOutput(filled, query))).toBeLessThanOrEqual(
      ONNX_ATTENTION_OUTPUT.value,
    );
  });

  it('keys before the rotary embedding are turned by the file', async () => {
    const key = transformed(asymmetric(4, 'tokens', 32), rotation(5));
    const filled = await fill(
      scheme({ key: { ...key, stage: 'pre-rope' }, value: asymmetric(4, 'channels', 32) }),
      77,
      { rotary: { pairs: 'adjacent', dimensions: 48 } },
    );
    const actual = await plainAttention(filled, query, {});
    expect(nmse(actual, await expectedOutput(filled, query))).toBeLessThanOrEqual(
      ONNX_ATTENTION_OUTPUT.value,
    );
  });
});

describe('encode file', () => {
  it('codes and scales go where the documentation says', async () => {
    const { plan, cache, sequence, key, value } = await fill(
      scheme({ key: asymmetric(4, 'tokens', 32), value: asymmetric(2, 'channels', 32) }),
      32,
    );
    const files = exportOnnx(plan, { layer: 0 });
    for (const [tensor, data, file] of [
      ['key', key, files.encodeKey],
      ['value', value, files.encodeValue],
    ] as const) {
      const session = await ort.InferenceSession.create(file as Uint8Array);
      const tokens = new ort.Tensor('float16', data, [32, HEADS, DIM]);
      const result = await session.run({ tokens });
      await session.release();
      const [block] = await cache.exportBlocks(sequence, 0, tensor);
      if (block === undefined) throw new Error('nothing is packed');
      const view = new DataView(block.bytes.buffer);
      const layout = plan.layers[0]?.[tensor].layout as NonNullable<
        NonNullable<Plan['layers'][number]>['key']['layout']
      >;
      if (result.codes === undefined) throw new Error('no output is called codes');
      const [heads, rows, rowBytes] = result.codes.dims as [number, number, number];
      const codes = result.codes.data as Uint8Array;
      for (let head = 0; head < heads; head++) {
        for (let row = 0; row < rows; row++) {
          const at = head * layout.headBytes + layout.codes.offset + row * layout.codes.rowBytes;
          const from = (head * rows + row) * rowBytes;
          expect(block.bytes.subarray(at, at + rowBytes)).toEqual(
            codes.subarray(from, from + rowBytes),
          );
        }
        for (const { name, offset, count } of layout.parameters) {
          const bits = result[name]?.data as unknown as Uint16Array;
          for (let i = 0; i < count; i++) {
            expect(view.getUint16(head * layout.headBytes + offset + 2 * i, true)).toBe(
              new Uint16Array(bits.buffer, bits.byteOffset)[head * count + i],
            );
          }
        }
      }
    }
  });
});

describe('what an export says', () => {
  it('every file names its plan and layer', () => {
    const plan = planOf(scheme({ key: asymmetric(4, 'tokens', 32), value: { bits: 16 } }));
    const { encodeKey, encodeValue, keyStatistics, valueStatistics, attention } = exportOnnx(plan, {
      layer: 0,
    });
    expect([encodeValue, keyStatistics, valueStatistics]).toEqual([null, null, null]);
    for (const file of [encodeKey as Uint8Array, attention]) {
      expect(metadataOf(file)).toMatchObject({
        'lowbit-kv.plan': plan.fingerprint,
        'lowbit-kv.layer': '0',
      });
      const { graph } = fromBinary(ModelProtoSchema, file);
      for (const value of [...(graph?.input ?? []), ...(graph?.output ?? [])])
        expect(value.docString).not.toBe('');
    }
  });

  it('heads that are stored apart have graphs of their own', () => {
    const target = scheme({ key: asymmetric(4, 'tokens', 32), value: { bits: 16 } });
    const overrides = [{ layers: [0], heads: [0], key: { bits: 16 as const } }];
    const plan = planOf({ ...target, overrides });
    const [first, second] = [0, 1].map((layer) => exportOnnx(plan, { layer }));
    expect([first?.encodeKey === null, second?.encodeKey === null]).toEqual([true, false]);
    expect(metadataOf(first?.attention as Uint8Array)).toMatchObject({
      'lowbit-kv.layer': '0',
      'lowbit-kv.heads': '[0]',
    });
    expect(metadataOf(second?.attention as Uint8Array)).toMatchObject({
      'lowbit-kv.layer': '0',
      'lowbit-kv.heads': '[1]',
    });
  });

  it('a layer that does not exist and a plan without graphs are refused', () => {
    const plan = planOf(scheme({ key: asymmetric(4, 'tokens', 32), value: { bits: 16 } }));
    expect(() => exportOnnx(plan, { layer: 1 })).toThrowError(
      expect.toSatisfy((error) => LowbitKvError.is(error, 'OPTION_INVALID')),
    );
    const key = bands('uniform', 'head');
    const outliers = { ...key.outliers, groupShift: false } as OutlierBands;
    const refused = planOf(scheme({ key: { ...key, outliers }, value: { bits: 16 } }));
    expect(() => exportOnnx(refused, { layer: 0 })).toThrowError(
      expect.toSatisfy((error) => LowbitKvError.is(error, 'PLAN_REFUSED')),
    );
  });
});
