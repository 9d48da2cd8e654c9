/**
 * The example messages of docs/errors.md: every error of core, provoked.
 */
import {
  type Backend,
  type Cache,
  type Calibration,
  createCache,
  createLowbitKv,
  createPlan,
  ERROR_CODES,
  type ErrorCode,
  f32Tensor,
  type Geometry,
  type GroupCodec,
  LowbitKvError,
  type PackedTensorPlan,
  type Plan,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
  type TensorScheme,
  validatePage,
} from '../src/index.js';

const GEOMETRY: Geometry = {
  layers: 2,
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

const FOUR_BITS: TensorScheme = {
  bits: 4,
  groups: { along: 'channels', size: 32 },
  quantizer: { mode: 'asymmetric', codes: 'uniform' },
  parameters: { scale: 'f16', zero: 'f16' },
  window: { recent: 0, flush: 1 },
};

const BANDS: TensorScheme = {
  bits: 4,
  groups: { along: 'vector', scope: 'head' },
  quantizer: { mode: 'symmetric', codes: 'midRise' },
  parameters: { scale: 'f16' },
  window: { recent: 0, flush: 1 },
  outliers: {
    kind: 'bands',
    shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
    groupShift: true,
    outlierBits: 5,
    storage: { format: 'coo64', reserve: 0 },
  },
};

function schemeOf(
  key: TensorScheme,
  calibration: Scheme['calibration'] = { kind: 'none' },
): Scheme {
  return {
    specVersion: 1,
    id: 'example',
    title: 'Example',
    sinks: 0,
    packing: 'before-attention',
    key,
    value: { bits: 16 },
    calibration,
  };
}

const CODED: TensorScheme = {
  bits: 2,
  groups: { along: 'channels', size: 32 },
  quantizer: { mode: 'codec', codes: 'five-per-byte', version: 1, groupBytes: 9 },
  parameters: {},
  window: { recent: 0, flush: 1 },
};

const CODEC: GroupCodec = {
  id: 'five-per-byte',
  version: 1,
  groupSize: 16,
  groupBytes: 9,
  encodeGroup: (_values, bytes) => void bytes.fill(0),
  decodeGroup: (_bytes, values) => void values.fill(0),
};

const OFFLINE = { kind: 'offline', values: ['thresholds'] } as const;

function calibrationFor(plannedFor: string): Calibration {
  const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 };
  return {
    specVersion: 1,
    scheme: plannedFor,
    provenance: {},
    layers: [{ key: { thresholds } }, { key: { thresholds } }],
  };
}

function bandsPlan(): Plan {
  const scheme = schemeOf(BANDS, OFFLINE);
  return createPlan(scheme, GEOMETRY, { calibration: calibrationFor(schemeFingerprint(scheme)) });
}

async function smallCache(tokens = 64, plan = createPlan(schemeOf(FOUR_BITS), GEOMETRY)) {
  return createCache(plan, referenceBackend(), { capacity: { tokens } });
}

function rows(tokens: number, change?: (values: Float32Array) => void) {
  const values = new Float32Array(tokens * 64).fill(0.5);
  change?.(values);
  return f32Tensor(values, [tokens, 1, 64]);
}

async function fill(cache: Cache, tokens: number, key = rows(tokens)) {
  const sequence = cache.createSequence();
  const layer = { key, value: rows(tokens) };
  await cache.append([{ sequence, tokens }], [layer, layer]);
  return sequence;
}

const absent: Backend = {
  ...referenceBackend(),
  id: 'absent',
  probe: async () => ({ ok: false, reason: 'no device was found', next: 'Install a driver.' }),
};

const full: Backend = {
  ...referenceBackend(),
  id: 'full',
  createStore: async () => {
    throw new RangeError('Array buffer allocation failed');
  },
};

async function damagedSnapshot(): Promise<void> {
  const cache = await smallCache();
  const bytes = await cache.snapshot([await fill(cache, 3)]);
  bytes[bytes.length - 40] = 1;
  await cache.restore(bytes);
}

/** A block whose scales were left out. */
async function scalelessBlock(): Promise<void> {
  const cache = await smallCache();
  const ramp = rows(3, (values) => values.set(values.map((_, i) => i / 64)));
  const [block] = await cache.exportBlocks(await fill(cache, 3, ramp), 1, 'key');
  const plan = cache.plan.layers[1]?.key as PackedTensorPlan;
  const scales = plan.layout.parameters[0]?.offset ?? 0;
  block?.bytes.fill(0, scales, scales + 12);
  validatePage(plan, block?.bytes ?? new Uint8Array(), 3, 1);
}

async function foreignSnapshot(): Promise<void> {
  const cache = await smallCache();
  const bytes = await cache.snapshot([await fill(cache, 3)]);
  const other = await smallCache(64, createPlan(schemeOf({ bits: 16 }), GEOMETRY));
  await other.restore(bytes);
}

const PROVOKE: Partial<Record<ErrorCode, () => unknown>> = {
  SCHEME_INVALID: () =>
    createPlan(schemeOf({ ...FOUR_BITS, bits: 5 } as unknown as TensorScheme), GEOMETRY),
  SPEC_VERSION_UNSUPPORTED: () =>
    createPlan({ ...schemeOf(FOUR_BITS), specVersion: 2 } as unknown as Scheme, GEOMETRY),
  SCHEME_DUPLICATE: () =>
    createLowbitKv({ schemes: [schemeOf(FOUR_BITS), schemeOf(BANDS, OFFLINE)] }),
  SCHEME_UNKNOWN: () => createLowbitKv({ schemes: [schemeOf(FOUR_BITS)] }).schemes.get('exmaple'),
  BACKEND_INVALID: () =>
    createLowbitKv({ backends: [{ specVersion: 1, id: 'half' } as unknown as Backend] }),
  BACKEND_DUPLICATE: () => createLowbitKv({ backends: [referenceBackend()] }),
  BACKEND_UNKNOWN: () => createLowbitKv().backends.get('webgpu'),
  BACKEND_UNAVAILABLE: () =>
    createCache(createPlan(schemeOf(FOUR_BITS), GEOMETRY), absent, { capacity: { tokens: 64 } }),
  GEOMETRY_INVALID: () =>
    createPlan(schemeOf(FOUR_BITS), { ...GEOMETRY, queryHeads: 3, kvHeads: 2 }),
  SHAPE_UNSUPPORTED: () => createPlan(schemeOf(FOUR_BITS), { ...GEOMETRY, keyHeadDim: 80 }),
  CALIBRATION_MISSING: () => createPlan(schemeOf(BANDS, OFFLINE), GEOMETRY),
  CALIBRATION_INVALID: () =>
    createPlan(schemeOf(BANDS, OFFLINE), GEOMETRY, { calibration: calibrationFor('4f1d') }),
  CODEC_MISSING: () => createPlan(schemeOf(CODED), GEOMETRY),
  CODEC_INVALID: () => createPlan(schemeOf(CODED), GEOMETRY, { codecs: [CODEC] }),
  PLAN_REFUSED: () =>
    createCache(
      createPlan(schemeOf(FOUR_BITS), GEOMETRY),
      {
        ...referenceBackend(),
        id: 'small',
        supports: () => ({ kind: 'refused', reasons: ['key: groups of 32 have no kernel'] }),
      },
      { capacity: { tokens: 64 } },
    ),
  OPTION_INVALID: () => smallCache(-1),
  TENSOR_INVALID: async () => {
    const cache = await smallCache();
    cache.step([{ sequence: cache.createSequence(), tokens: 2 }]).append(0, rows(1), rows(2));
  },
  NON_FINITE: async () => {
    const key = rows(3, (values) => {
      values[2 * 64 + 7] = 1e6;
    });
    await fill(await smallCache(), 3, key);
  },
  OUT_OF_PAGES: async () => {
    const cache = await smallCache(64);
    cache.step([{ sequence: cache.createSequence(), tokens: 5000 }]);
  },
  OUTLIER_CAPACITY: async () => {
    const key = rows(1, (values) => values.fill(3, 0, 20));
    await fill(await smallCache(64, bandsPlan()), 1, key);
  },
  STEP_STATE: async () => {
    const cache = await smallCache();
    await cache.step([{ sequence: cache.createSequence(), tokens: 1 }]).commit();
  },
  SEQUENCE_STATE: async () => {
    const cache = await smallCache();
    const sequence = cache.createSequence();
    cache.step([{ sequence, tokens: 1 }]);
    cache.fork(sequence);
  },
  CACHE_DISPOSED: async () => {
    const cache = await smallCache();
    cache.dispose();
    cache.createSequence();
  },
  TRUNCATE_INVALID: async () => {
    const cache = await smallCache();
    cache.truncate(await fill(cache, 3), 4);
  },
  SNAPSHOT_INVALID: damagedSnapshot,
  SNAPSHOT_MISMATCH: foreignSnapshot,
  BLOCK_INVALID: scalelessBlock,
  BACKEND_FAILED: () =>
    createCache(createPlan(schemeOf(FOUR_BITS), GEOMETRY), full, { capacity: { tokens: 64 } }),
};

/** Provokes an error of core. Throws when something else or nothing comes. */
async function messageOf(code: ErrorCode, provoke: () => unknown): Promise<string> {
  try {
    await provoke();
  } catch (error) {
    // Fingerprints change with the contract; the document need not.
    if (LowbitKvError.is(error, code))
      return error.message.replace(/[0-9a-f]{64}/g, '<fingerprint>');
    throw error;
  }
  throw new Error(`the example of ${code} raises nothing`);
}

/** Generated parts of docs/errors.md: what each code means and, where core raises it, a real message. */
export async function errorParts(): Promise<Map<string, string>> {
  const parts = new Map<string, string>();
  for (const [code, meaning] of Object.entries(ERROR_CODES) as [ErrorCode, string][]) {
    const provoke = PROVOKE[code];
    const example =
      provoke === undefined ? '' : `\n\n\`\`\`text\n${await messageOf(code, provoke)}\n\`\`\``;
    parts.set(code.toLowerCase().replaceAll('_', '-'), `${meaning}${example}`);
  }
  return parts;
}

/** Codes whose example the document holds itself, because another package raises them. */
export function foreignCodes(): ErrorCode[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => !(code in PROVOKE));
}
