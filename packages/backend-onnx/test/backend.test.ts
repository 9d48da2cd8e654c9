/**
 * The backend around its graphs: probing, missing peer, refusals, shared sessions, order of jobs, faults, disposal.
 */
import { exportOnnx, type OnnxRuntime, onnxBackend } from '@lowbit-kv/backend-onnx';
import {
  createCache,
  createPlan,
  encodeF16,
  f16Tensor,
  f32Tensor,
  type Geometry,
  isHostTensor,
  LowbitKvError,
  type OutlierBands,
  type Scheme,
} from '@lowbit-kv/core';
import { sharedExponentCodec, withSharedExponent } from '@lowbit-kv/core/testing';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { asymmetric, bands, calibrationFor, scheme } from './support/schemes.js';
import {
  CALIBRATED,
  channelMean,
  channelScale,
  HADAMARD,
  transformed,
} from './support/transforms.js';

const geometry: Geometry = {
  layers: 3,
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: 32,
  valueHeadDim: 32,
};
const simple = scheme({ key: asymmetric(4, 'tokens', 8), value: asymmetric(4, 'channels', 32) });
const capacity = { tokens: 64, sequences: 2 };

function planOf(target: Scheme) {
  const calibration = calibrationFor(target, geometry);
  return createPlan(target, geometry, calibration === undefined ? {} : { calibration });
}

const runtime = ort as unknown as OnnxRuntime;

/** ONNX Runtime that counts its sessions, and whose runs fail while `broken` is set. */
function watchedRuntime() {
  const state = { created: 0, released: 0, broken: false };
  const load = async (): Promise<OnnxRuntime> => ({
    Tensor: runtime.Tensor,
    InferenceSession: {
      async create(model, options) {
        const session = await runtime.InferenceSession.create(model, options);
        state.created++;
        return {
          run(feeds) {
            if (state.broken) throw new Error('the device is on fire');
            return session.run(feeds);
          },
          async release() {
            state.released++;
            await session.release();
          },
        };
      },
    },
  });
  return { state, load };
}

const tensor = (tokens: number, heads = 1, fill = 1) =>
  f32Tensor(
    Float32Array.from({ length: tokens * heads * 32 }, (_, i) => fill + (i % 7)),
    [tokens, heads, 32],
  );

describe('starting', () => {
  it('the probe names the runtime', async () => {
    const probe = await onnxBackend().probe();
    expect(probe).toMatchObject({ ok: true, device: expect.stringContaining('ONNX Runtime 1.') });
  });

  it('a missing peer says what to install', async () => {
    const missing = Object.assign(new Error("Cannot find package 'onnxruntime-node'"), {
      code: 'ERR_MODULE_NOT_FOUND',
    });
    const backend = onnxBackend({ loadRuntime: () => Promise.reject(missing) });
    expect(await backend.probe()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('PEER_MISSING'),
      next: expect.stringMatching(/pnpm add onnxruntime-node.*allowBuilds/),
    });
    await expect(
      backend.createStore(planOf(simple), { pages: [], nonFinite: 'error' }),
    ).rejects.toSatisfy(
      (error) => LowbitKvError.is(error, 'PEER_MISSING') && error.cause === missing,
    );
    await expect(createCache(planOf(simple), backend, { capacity })).rejects.toSatisfy((error) =>
      LowbitKvError.is(error, 'BACKEND_UNAVAILABLE'),
    );
  });

  it('a runtime that does not load is another fault', async () => {
    const backend = onnxBackend({ loadRuntime: () => Promise.reject(new Error('no library')) });
    expect(await backend.probe()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('no library'),
    });
  });

  it('threads must be a positive integer', () => {
    for (const intraOpNumThreads of [0, -1, 1.5, Number.NaN]) {
      expect(() => onnxBackend({ intraOpNumThreads })).toThrowError(
        expect.toSatisfy((error) => LowbitKvError.is(error, 'OPTION_INVALID')),
      );
    }
  });

  it('plans it does not execute are refused with reasons', () => {
    const key = bands('midRise', 'head');
    const outliers = { ...key.outliers, groupShift: false } as OutlierBands;
    const plan = planOf(scheme({ key: { ...key, outliers }, value: { bits: 16 } }));
    expect(onnxBackend().supports(plan)).toEqual({
      kind: 'refused',
      reasons: [expect.stringContaining('group shift')],
    });
    expect(onnxBackend().supports(planOf(simple))).toEqual({ kind: 'native' });
  });
});

describe('codecs', () => {
  const target = scheme({
    key: withSharedExponent({ along: 'channels', size: 16 }, 16),
    value: { bits: 16 },
    codecs: [sharedExponentCodec(16)],
  });

  it('are emulated, with the reason, and only when the caller allows it', async () => {
    const plan = planOf(target);
    const reasons = [
      'key: the codec shared-exponent-16 has no graph; its functions run on the host',
    ];
    expect(onnxBackend().supports(plan)).toEqual({ kind: 'emulated', reasons });
    await expect(createCache(plan, onnxBackend(), { capacity })).rejects.toMatchObject({
      code: 'PLAN_REFUSED',
      value: reasons,
      next: expect.stringContaining('allowEmulation'),
    });
  });

  it('encode and decode on the host, while attention runs in ONNX Runtime', async () => {
    const { state, load } = watchedRuntime();
    const plan = planOf(target);
    const cache = await createCache(plan, onnxBackend({ loadRuntime: load }), {
      capacity,
      allowEmulation: true,
    });
    expect(state.created).toBe(1);
    const sequence = cache.createSequence();
    await cache.append(
      [{ sequence, tokens: 3 }],
      plan.layers.map(() => ({ key: tensor(3), value: tensor(3) })),
    );
    expect(await cache.exportBlocks(sequence, 0, 'key')).toHaveLength(1);
    state.broken = true;
    const query = f32Tensor(new Float32Array(64), [1, 2, 32]);
    await expect(cache.attend(0, query, [sequence]).read()).rejects.toThrow('on fire');
    cache.dispose();
  });

  it('have no model files', () => {
    expect(() => exportOnnx(planOf(target), { layer: 0 })).toThrowError(
      expect.toSatisfy((error) => LowbitKvError.is(error, 'PLAN_REFUSED')),
    );
  });
});

describe('sessions', () => {
  it('equal layers share them, whatever their thresholds', async () => {
    for (const target of [
      simple,
      scheme({ key: bands('midRise', 'head'), value: bands('midRise', 'head') }),
    ]) {
      const { state, load } = watchedRuntime();
      const backend = onnxBackend({ loadRuntime: load });
      const cache = await createCache(planOf(target), backend, { capacity });
      // Attention, keys and values.
      expect(state.created).toBe(3);
      cache.dispose();
      await expect.poll(() => state.released).toBe(3);
    }
  });

  it('keys and values have their own statistics', async () => {
    const { state, load } = watchedRuntime();
    const target = scheme({
      key: transformed(asymmetric(4, 'tokens', 8), channelMean(8)),
      value: transformed(asymmetric(4, 'channels', 32), channelScale(8), HADAMARD),
    });
    const cache = await createCache(planOf(target), onnxBackend({ loadRuntime: load }), {
      capacity,
    });
    // Attention, and for each tensor encoding and statistics.
    expect(state.created).toBe(5);
    cache.dispose();
    await expect.poll(() => state.released).toBe(5);
  });

  it('layers with their own calibrated transforms share what does not depend on them', async () => {
    const { state, load } = watchedRuntime();
    const target = scheme({
      key: transformed(asymmetric(4, 'tokens', 8), ...CALIBRATED),
      value: asymmetric(4, 'channels', 32),
    });
    const cache = await createCache(planOf(target), onnxBackend({ loadRuntime: load }), {
      capacity,
    });
    // Attention and keys three times, values once.
    expect(state.created).toBe(7);
    cache.dispose();
    await expect.poll(() => state.released).toBe(7);
  });

  it('a graph that is refused leaves no session behind', async () => {
    const { state, load } = watchedRuntime();
    const loadBroken = async (): Promise<OnnxRuntime> => {
      const good = await load();
      return {
        ...good,
        InferenceSession: {
          async create(model, options) {
            if (state.created === 1) throw new Error('unknown operator');
            return good.InferenceSession.create(model, options);
          },
        },
      };
    };
    const created = createCache(planOf(simple), onnxBackend({ loadRuntime: loadBroken }), {
      capacity,
    });
    await expect(created).rejects.toSatisfy(
      (error) => LowbitKvError.is(error, 'BACKEND_FAILED') && error.value === 'unknown operator',
    );
    expect(state.released).toBe(1);
  });

  it('pages that do not fit into memory leave no session behind', async () => {
    const { state, load } = watchedRuntime();
    const created = createCache(planOf(simple), onnxBackend({ loadRuntime: load }), {
      capacity: { tokens: 2 ** 46 },
    });
    await expect(created).rejects.toSatisfy((error) => LowbitKvError.is(error, 'BACKEND_FAILED'));
    expect(state.created).toBeGreaterThan(0);
    expect(state.released).toBe(state.created);
  });
});

describe('jobs', () => {
  it('a fault reaches the reader and the commit, and the sequence stays as it was', async () => {
    const { state, load } = watchedRuntime();
    const cache = await createCache(planOf(simple), onnxBackend({ loadRuntime: load }), {
      capacity,
    });
    const sequence = cache.createSequence();
    const layers = Array.from({ length: 3 }, () => ({ key: tensor(10), value: tensor(10) }));
    await cache.append([{ sequence, tokens: 10 }], layers);
    state.broken = true;
    const step = cache.step([{ sequence, tokens: 1 }]);
    const results = layers.map((_, layer) => {
      step.append(layer, tensor(1), tensor(1));
      return step.attend(layer, tensor(1, 2));
    });
    for (const result of results) {
      await expect(result.read()).rejects.toSatisfy(
        (error) =>
          LowbitKvError.is(error, 'BACKEND_FAILED') &&
          (error.cause as Error).message === 'the device is on fire',
      );
    }
    await expect(step.commit()).rejects.toSatisfy((error) =>
      LowbitKvError.is(error, 'BACKEND_FAILED'),
    );
    expect(sequence.length).toBe(10);
    state.broken = false;
    await cache.append(
      [{ sequence, tokens: 1 }],
      layers.map(() => ({ key: tensor(1), value: tensor(1) })),
    );
    expect(sequence.length).toBe(11);
    cache.dispose();
  });

  it('arrays may be reused as soon as a call returns', async () => {
    const outputs: Float32Array[] = [];
    for (const reuse of [false, true]) {
      const cache = await createCache(planOf(simple), onnxBackend(), { capacity });
      const sequence = cache.createSequence();
      const step = cache.step([{ sequence, tokens: 9 }]);
      // Core copies f16 arrays once, so that the backend need not.
      const value = f16Tensor(encodeF16(tensor(9, 1, 3).data as Float32Array), [9, 1, 32]);
      const query = tensor(9, 2, 0.5);
      const results = [0, 1, 2].map((layer) => {
        const key = tensor(9, 1, 2);
        const given = { ...value, data: value.data.slice() };
        step.append(layer, key, given);
        if (reuse) {
          key.data.fill(0);
          given.data.fill(0);
        }
        return step.attend(layer, query);
      });
      if (reuse) query.data.fill(0);
      const { output } = await (results[2] as (typeof results)[number]).read();
      outputs.push(output.data as Float32Array);
      await step.commit();
      cache.dispose();
    }
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[0]?.some((x) => x !== 0)).toBe(true);
  });

  it('a result is a host tensor only once it is read', async () => {
    const cache = await createCache(planOf(simple), onnxBackend(), { capacity });
    const sequence = cache.createSequence();
    const layers = Array.from({ length: 3 }, () => ({ key: tensor(4), value: tensor(4) }));
    await cache.append([{ sequence, tokens: 4 }], layers);
    const result = cache.attend(1, tensor(1, 2), [sequence]);
    expect(isHostTensor(result.output)).toBe(false);
    expect(result.output).toMatchObject({ type: 'f32', shape: [1, 2, 32], device: 'onnx' });
    expect(result.logSumExp).toBeUndefined();
    const { output } = await result.read();
    expect(isHostTensor(output) && output.data.some((x) => x !== 0)).toBe(true);
    cache.dispose();
  });

  it('device tensors of others are refused', async () => {
    const cache = await createCache(planOf(simple), onnxBackend(), { capacity });
    const sequence = cache.createSequence();
    const step = cache.step([{ sequence, tokens: 1 }]);
    const device = { type: 'f16', shape: [1, 1, 32], device: 'other', handle: 1 } as const;
    expect(() => step.append(0, device, device)).toThrowError(
      expect.toSatisfy((error) => LowbitKvError.is(error, 'TENSOR_INVALID')),
    );
    cache.dispose();
  });
});
