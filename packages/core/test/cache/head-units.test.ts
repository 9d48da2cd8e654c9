// Overrides of single kv heads: every head is stored and attended exactly as in a cache whose whole layer is stored so.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  type Cache,
  createCache,
  createPlan,
  type DeviceTensor,
  defineScheme,
  f16Tensor,
  f32Tensor,
  type HostTensor,
  isHostTensor,
  planBytes,
  referenceBackend,
  type Scheme,
  type Sequence,
  schemeFingerprint,
  type Tensor,
} from '../../src/index.js';
import { asymmetric, bands, inlineScheme, lcgNormal } from '../../src/testing/index.js';
import { doctored } from '../support/doctored-backends.js';
import {
  eight,
  F16,
  GROUP,
  geometry,
  HEADS,
  KEY_DIM,
  refusal,
  schemeOf,
  split,
  stored,
  VALUE_DIM,
} from '../support/split-heads.js';

const input = (tokens: number, seed: number) => {
  const rows = (offset: number, dim: number) => {
    const shape = [tokens, HEADS, dim];
    return f16Tensor(lcgNormal({ seed: seed + offset, shape, dtype: 'f16' }), shape);
  };
  return { key: rows(0, KEY_DIM), value: rows(1, VALUE_DIM) };
};

const query = (count: number) => {
  const shape = [count, HEADS * GROUP, KEY_DIM];
  return f32Tensor(lcgNormal({ seed: 99, shape, dtype: 'f32' }), shape);
};

async function open(scheme: Scheme, backend: Backend = referenceBackend()): Promise<Cache> {
  const plan = createPlan(scheme, geometry, { blockTokens: 32 });
  return createCache(plan, backend, { capacity: { tokens: 600, sequences: 4 } });
}

async function grow(cache: Cache, sequence: Sequence, steps: readonly number[]): Promise<void> {
  for (const [i, tokens] of steps.entries())
    await cache.append([{ sequence, tokens }], [input(tokens, 7 * i), input(tokens, 7 * i + 3)]);
}

/** Elements of one head of `[rows, heads, dim]`. */
function headOf({ data, shape }: HostTensor, head: number): number[] {
  const [rows, heads, dim = 1] = shape as [number, number, number?];
  return Array.from({ length: rows }, (_, row) => {
    const at = (row * heads + head) * dim;
    return [...data.subarray(at, at + dim)];
  }).flat();
}

describe('a cache', () => {
  it('holds each head, and answers for it, as a whole layer of its scheme would', async () => {
    const cache = await open(split);
    const sequence = cache.createSequence();
    const steps = [70, 1, 1, 33, 1];
    await grow(cache, sequence, steps);
    const counts = { queries: [3], logSumExp: true };
    const answer = await cache.attend(0, query(3), [sequence], counts).read();
    const held = await cache.materialize(sequence, 0);
    for (const [head, parts] of stored.entries()) {
      const other = await open(schemeOf(parts));
      const same = other.createSequence();
      await grow(other, same, steps);
      const expected = await other.materialize(same, 0);
      expect(headOf(held.key, head)).toEqual(headOf(expected.key, head));
      expect(headOf(held.value, head)).toEqual(headOf(expected.value, head));
      const wanted = await other.attend(0, query(3), [same], counts).read();
      for (const row of [head * GROUP, head * GROUP + 1]) {
        expect(headOf(answer.output, row)).toEqual(headOf(wanted.output, row));
        expect(headOf(answer.logSumExp as HostTensor, row)).toEqual(
          headOf(wanted.logSumExp as HostTensor, row),
        );
      }
      // Head blocks of a page are what they are on any page.
      for (const tensor of ['key', 'value'] as const) {
        const blocks = (await cache.exportBlocks(sequence, 0, tensor)).filter(({ heads }) =>
          heads.includes(head),
        );
        const whole = await other.exportBlocks(same, 0, tensor);
        expect(blocks.length).toBe(whole.length);
        expect(whole.length > 0).toBe(parts[tensor].bits !== 16);
        for (const [i, block] of blocks.entries()) {
          const part = (bytes: Uint8Array, of: number, at: number) =>
            bytes.subarray((at * bytes.length) / of, ((at + 1) * bytes.length) / of);
          const own = part(block.bytes, block.heads.length, block.heads.indexOf(head));
          expect(own).toEqual(part(whole[i]?.bytes ?? new Uint8Array(), HEADS, head));
        }
      }
    }
  });

  it('attends in a step, over one result, and takes queries of any type', async () => {
    const cache = await open(split);
    const sequence = cache.createSequence();
    await grow(cache, sequence, [50]);
    const step = cache.step([{ sequence, tokens: 2 }]);
    const { key, value } = input(2, 400);
    step.append(0, key, value);
    const result = step.attend(0, query(2), { logSumExp: true });
    expect(isHostTensor(result.output)).toBe(true);
    expect(result.output.shape).toEqual([2, HEADS * GROUP, VALUE_DIM]);
    step.append(1, key, value);
    await step.commit();
    const again = await cache.attend(0, query(2), [sequence], { queries: [2] }).read();
    expect(again.output).toEqual((await result.read()).output);
    const bits = new Uint32Array((query(2).data as Float32Array).buffer).map((word) => word >>> 16);
    const half: HostTensor = { ...query(2), type: 'bf16', data: Uint16Array.from(bits) };
    const widened = f32Tensor(
      new Float32Array(bits.map((word) => word << 16).buffer),
      query(2).shape,
    );
    const [narrow, wide] = await Promise.all(
      [half, widened].map((tensor) => cache.attend(0, tensor, [sequence], { queries: [2] }).read()),
    );
    expect(narrow).toEqual(wide);
  });

  it('survives truncation, forks and snapshots', async () => {
    const cache = await open(split);
    const sequence = cache.createSequence();
    await grow(cache, sequence, [90]);
    const fork = cache.fork(sequence);
    cache.truncate(fork, 41);
    await grow(cache, fork, [30]);
    const bytes = await cache.snapshot([sequence, fork]);
    const other = await open(split);
    const restored = await other.restore(bytes);
    expect(await other.snapshot(restored)).toEqual(bytes);
    for (const [i, original] of [sequence, fork].entries()) {
      expect(await other.materialize(restored[i] as Sequence, 0)).toEqual(
        await cache.materialize(original, 0),
      );
      const [a, b] = await Promise.all([
        cache.attend(0, query(1), [original]).read(),
        other.attend(0, query(1), [restored[i] as Sequence]).read(),
      ]);
      expect(b).toEqual(a);
    }
  });

  it('counts its bytes exactly', async () => {
    for (const tokens of [1, 40, 97]) {
      const cache = await open(split);
      await grow(cache, cache.createSequence(), [tokens]);
      const { bytes } = await cache.stats();
      const { codes, parameters, windows, statistics, total } = planBytes(cache.plan, tokens);
      expect(bytes).toMatchObject({ codes, parameters, windows, statistics, live: total });
      cache.dispose();
    }
  });

  it('leaves out tokens that a sliding window keeps for some heads only', async () => {
    const plan = createPlan(
      {
        ...schemeOf({ key: eight, value: F16 }),
        overrides: [{ layers: [0], heads: [2], key: F16 }],
      },
      { ...geometry, slidingWindow: { size: 20, sinks: 0 } },
      { blockTokens: 8 },
    );
    const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 300 } });
    const sequence = cache.createSequence();
    await grow(cache, sequence, [60, 30]);
    const { key, keyPositions } = await cache.materialize(sequence, 0);
    const whole = await cache.materialize(sequence, 1);
    expect(key.shape[0]).toBe(keyPositions.length);
    expect(keyPositions.at(-1)).toBe(89);
    expect(keyPositions.length).toBeGreaterThanOrEqual(20);
    expect(keyPositions.every((position) => whole.keyPositions.includes(position))).toBe(true);
  });
});

describe('errors', () => {
  it('device tensors cannot be cut by heads: refused with the reason, and the step is abandoned', async () => {
    const cache = await open(split);
    const sequence = cache.createSequence();
    const device = (shape: readonly number[]): Tensor => ({
      type: 'f16',
      shape,
      device: 'reference',
      handle: null,
    });
    const step = cache.step([{ sequence, tokens: 1 }]);
    const error = refusal(() =>
      step.append(0, device([1, HEADS, KEY_DIM]), device([1, HEADS, VALUE_DIM])),
    );
    expect(error).toMatchObject({ code: 'PLAN_REFUSED', where: { layer: 0 } });
    await grow(cache, sequence, [5]);
    expect(sequence.length).toBe(5);
    expect(
      refusal(() => cache.attend(0, device([1, HEADS * GROUP, KEY_DIM]), [sequence])).code,
    ).toBe('PLAN_REFUSED');
  });

  it('name heads of the model', async () => {
    const banded: Scheme = {
      ...inlineScheme({ key: bands('midRise', 'head', 2), value: F16 }),
      overrides: [{ layers: [0], heads: [0, 2], key: F16 }],
    };
    const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 };
    const plan = createPlan(banded, geometry, {
      calibration: {
        specVersion: 1,
        scheme: schemeFingerprint(banded),
        provenance: {},
        layers: [0, 1].map(() => ({ key: { thresholds } })),
      },
    });
    const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 64 } });
    const sequence = cache.createSequence();
    const quiet = new Uint16Array(HEADS * KEY_DIM).fill(0x3c00);
    quiet.fill(0x4800, 3 * KEY_DIM);
    const key = f16Tensor(quiet, [1, HEADS, KEY_DIM]);
    const value = f16Tensor(new Uint16Array(HEADS * VALUE_DIM), [1, HEADS, VALUE_DIM]);
    const full = Array.from({ length: 64 }, () => quiet).flatMap((row) => [...row]);
    const step = cache.step([{ sequence, tokens: 64 }]);
    const error = refusal(() =>
      step.append(
        0,
        f16Tensor(Uint16Array.from(full), [64, HEADS, KEY_DIM]),
        f16Tensor(new Uint16Array(64 * HEADS * VALUE_DIM), [64, HEADS, VALUE_DIM]),
      ),
    );
    expect(error).toMatchObject({ code: 'OUTLIER_CAPACITY', where: { head: 3 } });
    key.data[2 * KEY_DIM + 5] = 0x7e00;
    await expect(
      cache.append(
        [{ sequence, tokens: 1 }],
        [
          { key, value },
          { key, value },
        ],
      ),
    ).rejects.toMatchObject({ code: 'NON_FINITE', where: { layer: 0, head: 2, channel: 5 } });
  });

  it('damaged pages of a snapshot are told by the head of the model', async () => {
    const scheme = defineScheme({
      ...inlineScheme({ key: asymmetric(4, 'channels', 32), value: F16 }),
      overrides: [{ layers: [0], heads: [0, 1], key: F16 }],
    });
    const plan = createPlan(scheme, geometry, { blockTokens: 8 });
    // The scale of the second head of the unit is read as infinite.
    const loud = doctored((inner, { layers }) => ({
      async readPages(request) {
        const bytes = await inner.readPages(request);
        const unit = layers[request.layer];
        const layout = unit?.[request.tensor].layout;
        if (request.kind === 'packed' && layout && unit.heads.length === 2)
          bytes[layout.headBytes + (layout.parameters[0]?.offset ?? 0) + 1] = 0x7c;
        return bytes;
      },
    }));
    const cache = await createCache(plan, loud, { capacity: { tokens: 64, sequences: 2 } });
    const sequence = cache.createSequence();
    await grow(cache, sequence, [8]);
    await expect(cache.restore(await cache.snapshot([sequence]))).rejects.toMatchObject({
      code: 'BLOCK_INVALID',
      where: { tensor: 'key', layer: 0, head: 3 },
    });
  });
});

describe('a backend whose results come later', () => {
  const later = (tensor: Tensor): DeviceTensor => ({
    type: 'f32',
    shape: tensor.shape,
    device: 'later',
    handle: null,
  });
  const pending = doctored((inner) => ({
    attend(job) {
      const { output, logSumExp, read } = inner.attend(job);
      return { output: later(output), logSumExp: logSumExp && later(logSumExp), read };
    },
  }));

  it('heads are put together when they are read', async () => {
    const [cache, reference] = await Promise.all([open(split, pending), open(split)]);
    const [a, b] = [cache.createSequence(), reference.createSequence()];
    await grow(cache, a, [60]);
    await grow(reference, b, [60]);
    const result = cache.attend(0, query(1), [a], { logSumExp: true });
    expect(result.output).toMatchObject({ shape: [1, HEADS * GROUP, VALUE_DIM], device: 'core' });
    expect(result.logSumExp).toMatchObject({ shape: [1, HEADS * GROUP], device: 'core' });
    const expected = await reference.attend(0, query(1), [b], { logSumExp: true }).read();
    expect(await result.read()).toEqual(expected);
    const { handle } = result.output as DeviceTensor;
    expect(await (handle as () => Promise<HostTensor>)()).toEqual(expected.output);
    // A layer that is not split passes the backend's own tensors on.
    expect(cache.attend(1, query(1), [a]).output).toMatchObject({ device: 'later' });
  });
});
