/**
 * Types of the public API: what must compile does, what must not does not. Checked by `tsc`; nothing here runs.
 */
import {
  type AttentionResult,
  type Backend,
  type BackendEvent,
  type Cache,
  createCache,
  createPlan,
  defineScheme,
  type ErrorCode,
  f16Tensor,
  f32Tensor,
  LowbitKvError,
  type OutlierBands,
  type Plan,
  type QuantizedTensorScheme,
  referenceBackend,
  type Scheme,
  type Sequence,
  type Tensor,
  type TensorScheme,
  type Transform,
} from '../../src/index.js';

type Part<Name extends keyof QuantizedTensorScheme> = QuantizedTensorScheme[Name];

const window = { recent: 0, flush: 32 } as const;
const key: QuantizedTensorScheme = {
  bits: 4,
  groups: { along: 'tokens', size: 32 },
  quantizer: { mode: 'asymmetric', codes: 'uniform' },
  parameters: { scale: 'f16', zero: 'f16' },
  window,
};

export const good: Scheme = {
  specVersion: 1,
  id: 'mine',
  title: 'Mine',
  sinks: 0,
  packing: 'after-attention',
  key,
  value: { bits: 16 },
  calibration: { kind: 'none' },
};

// Keys and values take the same form, and 16 bits take nothing else.
export const plain: TensorScheme = { bits: 16 };
// @ts-expect-error 16 bits take no groups
export const groupsOf16: TensorScheme = { bits: 16, groups: { along: 'tokens', size: 32 } };
// @ts-expect-error there are no five bits
export const fiveBits: TensorScheme = { ...key, bits: 5 };
// @ts-expect-error a quantized tensor needs a window
export const noWindow: TensorScheme = { ...key, window: undefined };
// @ts-expect-error groups run along tokens, channels or a vector
export const sideways: Part<'groups'> = { along: 'layers', size: 32 };
// @ts-expect-error a vector has a scope, not a size
export const sizedVector: Part<'groups'> = { along: 'vector', size: 32 };
// @ts-expect-error asymmetric codes are uniform or a table
export const wrongCodes: Part<'quantizer'> = { mode: 'asymmetric', codes: 'signmag' };
const hybrid = { mode: 'hybrid', codes: 'full', asymmetricBits: 4, tie: 'symmetric' } as const;
// @ts-expect-error hybrid states its norm
export const noNorm: Part<'quantizer'> = hybrid;
export const withNorm: Part<'quantizer'> = { ...hybrid, norm: 'l1' };
// @ts-expect-error parameters are f16, f32, e4m3 or e8m0
export const wideScale: Part<'parameters'> = { scale: 'f64' };
// @ts-expect-error bands are stored as coo64 or bitmap64
export const storage: OutlierBands['storage'] = { format: 'csr16', reserve: 4 };
// @ts-expect-error a model-wide scale has no statistics
export const modelWide: Transform = { kind: 'channelScale', scope: 'model', statisticsTokens: 4 };
// @ts-expect-error transforms have a kind we know
export const unknownTransform: Transform = { kind: 'fourier' };

// @ts-expect-error the contract has version 1
export const version2: Scheme = { ...good, specVersion: 2 };
// @ts-expect-error packing happens before or after attention
export const during: Scheme = { ...good, packing: 'during-attention' };
// @ts-expect-error a misspelt field
export const misspelt: Scheme = { ...good, sink: 4 };
// @ts-expect-error offline calibration says what it needs
export const offline: Scheme = { ...good, calibration: { kind: 'offline' } };
// @ts-expect-error calibrate gives the values of layers
export const calibrates: Scheme = { ...good, calibrate: async () => 7 };

export function frozen(): void {
  const scheme: Scheme = defineScheme(good);
  // @ts-expect-error a scheme is read-only
  scheme.sinks = 3;
  // @ts-expect-error so are its parts
  scheme.key.bits = 16;
  const shape = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64 };
  const geometry = { ...shape, valueHeadDim: 64 };
  const plan: Plan = createPlan(scheme, geometry);
  // @ts-expect-error a plan is read-only
  plan.layers[0] = undefined;
  // @ts-expect-error a geometry needs both head dims
  createPlan(scheme, shape);
  // @ts-expect-error a misspelt option
  createPlan(scheme, geometry, { blockToken: 3 });
}

export async function use(plan: Plan, backend: Backend): Promise<AttentionResult> {
  const cache: Cache = await createCache(plan, backend, { capacity: { tokens: 10 } });
  // @ts-expect-error a capacity is needed
  await createCache(plan, backend, {});
  // @ts-expect-error non-finite values are an error or masked
  await createCache(plan, backend, { capacity: { tokens: 1 }, nonFinite: 'ignore' });
  const sequence: Sequence = cache.createSequence();
  const tensor: Tensor = f16Tensor(new Uint16Array(64), [1, 1, 64]);
  const step = cache.step([{ sequence, tokens: 1 }]);
  step.append(0, tensor, f32Tensor(new Float32Array(64), [1, 1, 64]));
  // @ts-expect-error keys and values are tensors, not arrays
  step.append(0, new Float32Array(64), new Float32Array(64));
  // @ts-expect-error f16 bits are a Uint16Array
  f16Tensor(new Float32Array(64), [1, 1, 64]);
  // @ts-expect-error the length is read, never set
  sequence.length = 3;
  await step.commit();
  const result = cache.attend(0, tensor, [sequence], { logSumExp: true });
  const read = await result.read();
  // @ts-expect-error the log-sum-exp is only there when asked for
  read.logSumExp.data;
  return result;
}

export function codes(error: unknown): ErrorCode | undefined {
  if (!LowbitKvError.is(error)) return undefined;
  const code: ErrorCode = error.code;
  // @ts-expect-error there is no such code
  LowbitKvError.is(error, 'OOPS');
  return code;
}

export const reference: Backend = referenceBackend();
const { probe, createStore } = reference;
// @ts-expect-error a backend says what it supports
export const silent: Backend = { specVersion: 1, id: 'x', probe, createStore };

export function told(event: BackendEvent): number {
  // @ts-expect-error a call that begins has taken no time
  if (event.phase === 'start') return event.milliseconds;
  if (event.phase === 'fault') return event.error.message.length;
  if (event.type === 'attend') return event.queries + event.query.bytes + event.key.packed;
  if (event.type === 'create-store') return event.allocatedBytes + (event.pages[0]?.packed ?? 0);
  // @ts-expect-error pages are read and written, not told of a step
  if (event.type === 'settle') return event.pages;
  return event.milliseconds;
}
