// Tensors in device memory as callers have them, attention of very many query tokens, and streams of callers: against the reference.
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32ToF16,
  type Geometry,
  type Plan,
  referenceBackend,
  type Sequence,
  type TensorType,
} from '@lowbit-kv/core';
import { asymmetric, createDraws, inlineScheme } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Context, cudaTensor, DeviceMemory, openCuda, type Stream } from '../src/index.js';
import { type FakeBackend, fakeBackend } from './support/fake-backend.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { errorOf } from './support/open-fake.js';
import { compiler } from './support/pack/host-program.js';

const HEADS = 2;
const DIM = 128;
const SHAPE: Geometry = {
  layers: 1,
  queryHeads: HEADS,
  kvHeads: HEADS,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};

/** Nothing is packed in the tokens of these tests. */
function planOf(change: Partial<Geometry> = {}): Plan {
  const scheme = inlineScheme({
    key: asymmetric(4, 'tokens', 32, { recent: 64, flush: 32 }),
    value: asymmetric(4, 'channels', 32, { recent: 64, flush: 1 }),
    packing: 'after-attention',
  });
  return createPlan(scheme, { ...SHAPE, ...change }, { blockTokens: 128 });
}

const draw = createDraws(11);
/** Exact in bf16. */
const number = () => (draw() % 256) / 64 - 2;
const halves = (count: number) => Uint16Array.from({ length: count }, () => f32ToF16(number()));
const rowsOf = (tokens: number, data = halves(tokens * HEADS * DIM)) =>
  f16Tensor(data, [tokens, HEADS, DIM]);

interface Layout {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset?: number;
  readonly strides?: readonly number[];
  /** Of the memory, beyond the alignment of allocations. */
  readonly shift?: number;
}

const LAYOUTS: readonly Layout[] = [
  { name: 'dense', shape: [6, HEADS, DIM] },
  { name: 'dense, with an odd offset', shape: [6, HEADS, DIM], offset: 3 },
  { name: 'dense, in memory that is shifted', shape: [6, HEADS, DIM], shift: 4 },
  { name: 'strided', shape: [6, HEADS, DIM], offset: 8, strides: [3 * HEADS * DIM + 1, DIM + 5] },
  { name: 'heads first', shape: [6, HEADS, DIM], strides: [DIM, 6 * DIM] },
  { name: 'one row for all tokens', shape: [6, HEADS, DIM], strides: [0, DIM] },
  { name: 'a batch', shape: [2, 3, HEADS, DIM] },
  {
    name: 'a batch, heads first',
    shape: [2, 3, HEADS, DIM],
    offset: 16,
    strides: [8 * HEADS * DIM, DIM, 4 * DIM],
  },
  { name: 'a batch of one', shape: [1, 6, HEADS, DIM], strides: [7, HEADS * DIM, DIM] },
];

/** Bytes of an element with the value of f16 bits. */
function bitsOf(value: number, type: TensorType): Uint8Array {
  if (type === 'f16') return new Uint8Array(Uint16Array.of(f32ToF16(value)).buffer);
  const bytes = new Uint8Array(Float32Array.of(value).buffer);
  return type === 'f32' ? bytes : bytes.slice(2);
}

describe.skipIf(compiler === undefined)('a store', () => {
  let host: HostKernels;

  beforeAll(() => {
    host = buildHostKernels([]);
  }, 60_000);

  afterAll(() => host.remove());

  async function withCaches(
    plan: Plan,
    body: (
      caches: readonly [reference: Cache, subject: Cache],
      opened: FakeBackend & { readonly context: Context },
    ) => Promise<void>,
    opened = fakeBackend(host.kernels),
  ) {
    const { context } = await opened.backend.open();
    const options = { capacity: { sequences: 6, tokens: 600 } };
    const caches = [
      await createCache(plan, referenceBackend(), options),
      await createCache(plan, opened.backend, options),
    ] as const;
    await body(caches, { ...opened, context });
    for (const cache of caches) cache.dispose();
    opened.backend.dispose();
    expect(opened.fake.leaks()).toEqual([]);
  }

  /** The tensor in device memory, its elements, and how to set one: by token, head and channel. */
  function tensorIn(context: Context, type: TensorType, layout: Layout) {
    const { shape, offset = 0, strides, shift = 0 } = layout;
    const size = type === 'f32' ? 4 : 2;
    const memory = DeviceMemory.allocate(context, 2 ** 16);
    // Not a number where the tensor is not.
    memory.all.upload(new Uint8Array(memory.bytes).fill(0xff));
    const range = memory.range(shift);
    const tensor = cudaTensor(range, { type, shape, offset, ...(strides && { strides }) });
    const [tokensPerBatch] = shape.slice(-3) as [number];
    const [batch, token, head] = strides
      ? [0, ...strides].slice(-3)
      : [tokensPerBatch * HEADS * DIM, HEADS * DIM, DIM];
    const place = (element: number) => {
      const row = Math.floor(element / (HEADS * DIM));
      const steps = [Math.floor(row / tokensPerBatch), row % tokensPerBatch] as const;
      const own = Math.floor(element / DIM) % HEADS;
      return offset + steps[0] * batch! + steps[1] * token! + own * head! + (element % DIM);
    };
    const set = (element: number, value: number) =>
      range.range(size * place(element), size).upload(bitsOf(value, type));
    const values = new Map<number, number>();
    const elements = 6 * HEADS * DIM;
    for (let element = 0; element < elements; element++) {
      const at = place(element);
      if (!values.has(at)) values.set(at, number());
      set(element, values.get(at)!);
    }
    const expected = Uint16Array.from({ length: elements }, (_, i) =>
      f32ToF16(values.get(place(i))!),
    );
    return { tensor, set, expected, firstAt: (element: number) => place(element) };
  }

  it.each(['f32', 'f16', 'bf16'] as const)('takes %s tensors as they lie', (type) =>
    withCaches(planOf(), async (caches, { context }) => {
      for (const layout of LAYOUTS) {
        const key = tensorIn(context, type, layout);
        const value = tensorIn(context, type, layout);
        const sequences = caches.map((cache) => cache.createSequence());
        const input = [
          { key: rowsOf(6, key.expected), value: rowsOf(6, value.expected) },
          { key: key.tensor, value: value.tensor },
        ];
        for (const [side, cache] of caches.entries())
          await cache.append([{ sequence: sequences[side]!, tokens: 6 }], [input[side]!]);
        const [wanted, actual] = await Promise.all(
          caches.map((cache, side) => cache.materialize(sequences[side]!, 0)),
        );
        expect({ [layout.name]: actual }).toEqual({ [layout.name]: wanted });
        // Rows that lie at the same place have the same faults: the first is told.
        const element = layout.strides?.[0] === 0 ? 130 : 4 * HEADS * DIM + 130;
        value.set(element, type === 'f16' ? Number.NaN : 70_000);
        const error = await errorOf(() =>
          caches[1].append([{ sequence: sequences[1]!, tokens: 6 }], [input[1]!]),
        );
        expect({ [layout.name]: error }).toMatchObject({
          [layout.name]: {
            code: 'NON_FINITE',
            value: `element ${element}`,
            where: {
              ...{ tensor: 'value', layer: 0, sequence: 0 },
              head: 1,
              channel: 2,
              token: 6 + Math.floor(element / (HEADS * DIM)),
            },
          },
        });
        for (const [side, cache] of caches.entries()) cache.disposeSequence(sequences[side]!);
      }
    }),
  );

  it('attends with more query tokens than a round has, with none, and over none', () =>
    withCaches(planOf({ softCap: 5 }), async (caches) => {
      const sequences = caches.map((cache) => [cache.createSequence(), cache.createSequence()]);
      const [key, value] = [rowsOf(5), rowsOf(5)];
      for (const [side, cache] of caches.entries())
        await cache.append([{ sequence: sequences[side]![0]!, tokens: 5 }], [{ key, value }]);
      const counts = Array.from({ length: 1040 }, (_, i) => [0, 5, 1, 2][i % 4]!);
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect(total).toBeGreaterThan(2048);
      const query = rowsOf(total);
      const [wanted, actual] = await Promise.all(
        caches.map((cache, side) => {
          // The second one is empty.
          const all = counts.map((_, i) => sequences[side]![i % 7 === 3 ? 1 : 0]!);
          return cache.attend(0, query, all, { queries: counts, logSumExp: true }).read();
        }),
      );
      for (const part of ['output', 'logSumExp'] as const) {
        const [some, others] = [wanted![part]!.data, actual![part]!.data];
        expect(others.length).toBe(some.length);
        let worst = 0;
        for (const [i, one] of some.entries()) {
          if (one !== others[i]) worst = Math.max(worst, Math.abs(one - others[i]!));
        }
        expect(worst).toBeLessThan(1e-5);
      }
      const none = caches[1].attend(0, rowsOf(0), [sequences[1]![0]!], { queries: [0] });
      expect((await none.read()).output.data.length).toBe(0);
    }));

  it.each([null, { size: 12, sinks: 3 }])(
    'captures steps of sequences that are forked and cut, window %j',
    (slidingWindow) =>
      withCaches(planOf({ slidingWindow }), async (caches, { backend, context }) => {
        const rows = 4;
        const memory = (bytes: number) =>
          DeviceMemory.allocate(context, bytes * rows * HEADS * DIM);
        const [keys, values, queries, output] = [
          memory(2),
          memory(2),
          memory(2),
          memory(4),
        ] as const;
        const captured = await backend.captureStep({ rows, tokens: 600 });
        const active = caches.map((cache) => [cache.createSequence()]);
        const step = async () => {
          const count = active[0]!.length;
          const [key, value, query] = [rowsOf(count), rowsOf(count), rowsOf(count)];
          const taken = caches.map((cache, side) =>
            cache.step(active[side]!.map((sequence) => ({ sequence, tokens: 1 }))),
          );
          taken[0]!.append(0, key, value);
          const wanted = await taken[0]!.attend(0, query).read();
          for (const [to, { data }] of [
            [keys, key],
            [values, value],
            [queries, query],
          ] as const)
            to.all.upload(new Uint8Array(data.buffer));
          const tensor = (from: DeviceMemory, type: 'f16' | 'f32') =>
            cudaTensor(from.all, { type, shape: [count, HEADS, DIM] });
          captured.run(() => {
            taken[1]!.append(0, tensor(keys, 'f16'), tensor(values, 'f16'));
            const into = { output: tensor(output, 'f32') };
            taken[1]!.attend(0, tensor(queries, 'f16'), { into });
          });
          for (const one of taken) await one.commit();
          const actual = new Float32Array(output.all.download().slice().buffer);
          for (const [i, one] of wanted.output.data.entries())
            expect(Math.abs(one - actual[i]!)).toBeLessThan(1e-5);
        };
        for (let turn = 0; turn < 24; turn++) {
          await step();
          for (const [side, cache] of caches.entries()) {
            const sequences = active[side] as Sequence[];
            if (turn % 6 === 4 && sequences.length < rows)
              sequences.push(cache.fork(sequences[turn % sequences.length]!));
            if (turn === 9) cache.reorder(sequences, [1, 1]);
            if (turn % 8 === 7) cache.truncate(sequences[0]!, sequences[0]!.length - 1);
          }
        }
        expect(active[0]!.length).toBe(4);
        captured.dispose();
      }),
  );

  it('works in a context and a stream of the caller, beside another cache', async () => {
    let stream: Stream | undefined;
    let own: Context | undefined;
    let callers = 0n;
    const made = fakeBackend(host.kernels, (fake) => {
      callers = fake.createContext();
      const handle = new BigUint64Array(1);
      fake.driver.cuStreamCreate(handle, 1);
      return { context: 'current', stream: handle[0]! };
    });
    own = Context.current(await openCuda({ driver: made.fake.driver }));
    const opened = await made.backend.open();
    stream = opened.stream;
    expect(opened.context.handle).toBe(callers);
    await withCaches(
      planOf(),
      async (caches, { backend, fake }) => {
        const second = await createCache(planOf(), backend, {
          capacity: { sequences: 1, tokens: 99 },
        });
        const other = second.createSequence();
        const sequences = caches.map((cache) => cache.createSequence());
        for (let turn = 0; turn < 3; turn++) {
          const [key, value, query] = [rowsOf(2), rowsOf(2), rowsOf(2)];
          const steps = caches.map((cache, side) =>
            cache.step([{ sequence: sequences[side]!, tokens: 2 }]),
          );
          const beside = second.step([{ sequence: other, tokens: 2 }]);
          for (const step of steps) step.append(0, key, value);
          beside.append(0, rowsOf(2), rowsOf(2));
          beside.attend(0, rowsOf(2));
          const [wanted, actual] = await Promise.all(
            steps.map((step) => step.attend(0, query).read()),
          );
          await Promise.all([...steps, beside].map((step) => step.commit()));
          for (const [i, one] of wanted!.output.data.entries())
            expect(Math.abs(one - actual!.output.data[i]!)).toBeLessThan(1e-5);
          expect(fake.currentContext).toBe(callers);
        }
        second.dispose();
        fake.driver.cuStreamSynchronize(stream!.handle);
        fake.driver.cuStreamDestroy_v2(stream!.handle);
        own!.dispose();
        fake.popContext();
      },
      made,
    );
  });
});
