// Validation of schemes: shapes, cross-field rules, messages a person can act on, and the JSON Schema beside it.
import { describe, expect, it } from 'vitest';
import {
  defineScheme,
  LowbitKvError,
  parseCalibration,
  type Scheme,
  schemeDataOf,
  schemeJsonSchema,
} from '../../src/index.js';
import { matchesJsonSchema } from '../support/json-schema.js';
import { channelKeys, channelScale, scheme, tensor, tokenKeys } from '../support/schemes.js';

type Bag = Record<string, unknown>;
/** A copy with one field replaced (or, with undefined, removed) at a path like `key.groups.size`. */
function changed(base: Scheme, path: string, value: unknown): Bag {
  const copy = structuredClone(base) as unknown as Bag;
  const parts = path.split('.');
  const last = parts.pop() as string;
  let at = copy;
  for (const part of parts) at = at[part] as Bag;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

function refusal(value: unknown): LowbitKvError {
  try {
    defineScheme(value as Scheme);
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  throw new Error('accepted');
}

const bands = {
  ...tensor({ along: 'vector', codes: 'signmag' }),
  quantizer: { mode: 'symmetric', codes: 'midRise' },
  outliers: {
    kind: 'bands',
    shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
    groupShift: true,
    outlierBits: 5,
    storage: { format: 'coo64', reserve: 32 },
  },
};
const banded = {
  ...scheme(),
  key: bands,
  calibration: { kind: 'offline', values: ['thresholds'] },
} as unknown as Scheme;
const levels = { levels: [-1, -0.3, 0.3, 1], scaledBy: 'absoluteMaximum' };
const everything = {
  ...banded,
  references: ['arXiv:0000.00000'],
  compat: 'fp16',
  value: {
    ...tensor({ bits: 2, along: 'channels', codes: 'signmag', recent: 3, flush: 4 }),
    quantizer: { mode: 'symmetric', codes: levels },
    transforms: [
      { kind: 'hadamard' },
      { kind: 'channelOrder', scope: 'model' },
      { kind: 'channelMean', scope: 'sequence', statisticsTokens: 8 },
    ],
  },
  overrides: [{ layers: [0, -1], heads: [1], key: { bits: 16 } }],
  calibration: { kind: 'offline', values: ['thresholds', 'channelOrder'] },
} as unknown as Scheme;

const valid: Record<string, unknown> = {
  'token keys': tokenKeys(),
  'channel keys': channelKeys({ bits: 3, codes: 'fullSigned', sinks: 4 }),
  hybrid: channelKeys({ bits: 2, codes: 'hybrid' }),
  'a channel scale': scheme({ key: { transforms: [channelScale(8)] } }),
  bands: banded,
  everything,
};

/** Path, bad value, field that the error names, and what it says is valid. */
const shapeFaults: [string, unknown, string, RegExp][] = [
  ['sink', 3, 'sink', /Did you mean "sinks"/],
  ['key.window.recant', 3, 'key.window.recant', /"recent", "flush".*Did you mean "recent"/],
  ['key.groups.sise', 32, 'key.groups.sise', /Did you mean "size"/],
  ['key.extra', 1, 'key.extra', /valid: "bits", "groups"/],
  ['id', 'Not An Id', 'id', /lower-case words joined by hyphens/],
  ['id', 7, 'id', /valid: a string/],
  ['id', 'x'.repeat(65), 'id', /at most 64 characters/],
  ['title', '', 'title', /at least 1 characters/],
  ['sinks', -1, 'sinks', /at least 0/],
  ['sinks', 1.5, 'sinks', /an integer/],
  ['sinks', '4', 'sinks', /a number/],
  ['sinks', Number.NaN, 'sinks', /a number/],
  ['sinks', undefined, 'sinks', /is missing/],
  ['packing', 'after', 'packing', /"before-attention", "after-attention"/],
  ['packing', 'after-atention', 'packing', /Did you mean "after-attention"/],
  ['key', undefined, 'key', /is missing; .*|is missing/],
  ['key', null, 'key', /an object/],
  ['key', 'int4', 'key', /an object/],
  ['key.bits', 5, 'key.bits', /valid: 16, 1, 2, 3, 4, 8/],
  ['key.bits', undefined, 'key.bits', /is missing/],
  ['key.groups.along', 'token', 'key.groups.along', /Did you mean "tokens"/],
  ['key.groups.size', 0, 'key.groups.size', /at least 1/],
  ['key.quantizer.mode', 'asymetric', 'key.quantizer.mode', /Did you mean "asymmetric"/],
  ['key.quantizer.codes', 'unifrom', 'key.quantizer.codes', /Did you mean "uniform"/],
  [
    'key.quantizer.codes',
    { levels: [1], scaledBy: 'absoluteMaximum' },
    'key.quantizer.codes.levels',
    /at least 2 entries/,
  ],
  [
    'key.quantizer.codes',
    { levels: [1, 2], scaleBy: 'x' },
    'key.quantizer.codes.scaleBy',
    /Did you mean "scaledBy"/,
  ],
  ['key.parameters.scale', 'f8', 'key.parameters.scale', /"f16", "f32", "e4m3", "e8m0"/],
  ['key.window.flush', 0, 'key.window.flush', /at least 1/],
  ['key.window', [], 'key.window', /an object/],
  ['key.transforms', {}, 'key.transforms', /an array/],
  ['key.transforms', [{ kind: 'hadamar' }], 'key.transforms[0].kind', /Did you mean "hadamard"/],
  ['key.stage', 'pre', 'key.stage', /"post-rope", "pre-rope"/],
  ['overrides', [{ layers: [], key: { bits: 16 } }], 'overrides[0].layers', /at least 1 entries/],
  ['overrides', [{ layers: [0], kye: { bits: 16 } }], 'overrides[0].kye', /Did you mean "key"/],
  ['calibration.kind', 'prefil', 'calibration.kind', /Did you mean "prefill"/],
  ['calibration', { kind: 'offline', values: [] }, 'calibration.values', /at least 1 entries/],
  ['calibrate', 'yes', 'calibrate', /leave it out/],
];

describe('shapes', () => {
  it.each(shapeFaults)('%s = %j', (path, value, field, text) => {
    const error = refusal(changed(tokenKeys(), path, value));
    expect(error.code).toBe('SCHEME_INVALID');
    expect(error.message).toContain(field);
    expect(error.message).toMatch(text);
    expect(error.next).not.toBe('');
    expect(error.valid).toBeDefined();
    if (path !== 'calibrate') expect(error.where).toEqual({ field });
    expect(error.message.length).toBeLessThan(700);
  });

  it.each([null, undefined, 7, 'kivi', () => tokenKeys()])('a scheme that is %s', (value) => {
    expect(refusal(value).code).toBe('SCHEME_INVALID');
  });

  it.each([0, 2, '1', undefined])('specVersion %s', (specVersion) => {
    const error = refusal(changed(tokenKeys(), 'specVersion', specVersion));
    expect(error).toMatchObject({ code: 'SPEC_VERSION_UNSUPPORTED', valid: [1] });
    expect(error.message).toContain('"token-keys-4bit"');
  });

  it('reports a value that cannot be printed', () => {
    expect(refusal(changed(tokenKeys(), 'sinks', 10n)).message).toContain('got 10');
    expect(refusal({ specVersion: 3, id: 5n }).code).toBe('SPEC_VERSION_UNSUPPORTED');
  });
});

const tokens = tensor({ along: 'tokens', size: 32 });
/** Rules over several fields: the scheme, the field named, what is valid. */
const rules: Record<string, [unknown, string, RegExp]> = {
  'flush not a multiple of a token group': [
    { ...scheme(), key: { ...tokens, window: { recent: 0, flush: 48 } } },
    'key.window.flush',
    /a multiple of the group size 32/,
  ],
  'token groups that end inside a byte': [
    scheme({ value: { along: 'tokens', size: 12 } }),
    'value.groups.size',
    /a multiple of 8/,
  ],
  'no zero for asymmetric groups': [
    { ...scheme(), key: { ...tensor(), parameters: { scale: 'f16' } } },
    'key.parameters.zero',
    /asymmetric groups store a zero/,
  ],
  'no zero for hybrid groups': [
    { ...scheme(), key: { ...tensor({ codes: 'hybrid' }), parameters: { scale: 'f16' } } },
    'key.parameters.zero',
    /hybrid groups store a zero/,
  ],
  'a zero for symmetric groups': [
    {
      ...scheme(),
      value: { ...tensor({ codes: 'full' }), parameters: { scale: 'f16', zero: 'f16' } },
    },
    'value.parameters.zero',
    /absent/,
  ],
  'sign and magnitude in one bit': [
    scheme({ key: { bits: 1, codes: 'signmag' } }),
    'key.bits',
    /at least 2/,
  ],
  'hybrid sign and magnitude in one bit': [
    {
      ...scheme(),
      key: {
        ...tensor({ bits: 1, codes: 'hybrid' }),
        quantizer: {
          mode: 'hybrid',
          codes: 'signmag',
          asymmetricBits: 1,
          norm: 'l1',
          tie: 'symmetric',
        },
      },
    },
    'key.bits',
    /at least 2/,
  ],
  'more asymmetric bits than bits': [
    {
      ...scheme(),
      key: {
        ...tensor({ bits: 2, codes: 'hybrid' }),
        quantizer: {
          mode: 'hybrid',
          codes: 'full',
          asymmetricBits: 3,
          norm: 'l1',
          tie: 'symmetric',
        },
      },
    },
    'key.quantizer.asymmetricBits',
    /at most bits = 2/,
  ],
  'more levels than codes': [
    {
      ...scheme(),
      key: {
        ...tensor({ bits: 1, codes: 'full' }),
        quantizer: { mode: 'symmetric', codes: { ...levels } },
      },
    },
    'key.quantizer.codes.levels',
    /2 to 2\^bits = 2 levels/,
  ],
  'levels that do not rise': [
    {
      ...scheme(),
      key: {
        ...tensor({ codes: 'full' }),
        quantizer: { mode: 'symmetric', codes: { ...levels, levels: [-1, 0.1, 0.1 + 1e-12] } },
      },
    },
    'key.quantizer.codes.levels',
    /rise strictly/,
  ],
  'mid-rise without bands': [
    {
      ...scheme(),
      key: { ...tensor({ codes: 'full' }), quantizer: { mode: 'symmetric', codes: 'midRise' } },
    },
    'key.quantizer.codes',
    /only together with outlier bands/,
  ],
  'a vector over all heads without bands': [
    {
      ...scheme(),
      value: { ...tensor({ along: 'vector' }), groups: { along: 'vector', scope: 'allHeads' } },
    },
    'value.groups.scope',
    /head/,
  ],
  'bands whose shares do not add up': [
    changed(banded, 'key.outliers.shares.inner', 0.1),
    'key.outliers.shares',
    /add up to 1/,
  ],
  'bands in short groups': [
    changed(banded, 'key.groups', { along: 'channels', size: 32 }),
    'key.groups.along',
    /vector/,
  ],
  'bands of three bits': [changed(banded, 'key.bits', 3), 'key.bits', /4/],
  'bands with a code set of their own': [
    changed(banded, 'key.quantizer', { mode: 'symmetric', codes: 'full' }),
    'key.quantizer',
    /midRise or asymmetric uniform/,
  ],
  'bands with short scales': [
    changed(banded, 'key.parameters.scale', 'e4m3'),
    'key.parameters.scale',
    /f16, when there are outlier bands/,
  ],
  'bands without calibration': [
    changed(banded, 'calibration', { kind: 'none' }),
    'calibration',
    /offline with thresholds/,
  ],
  'thresholds that nothing uses': [
    { ...scheme(), calibration: { kind: 'offline', values: ['thresholds'] } },
    'calibration.values',
    /no thresholds/,
  ],
  'calibrated factors without calibration': [
    {
      ...scheme(),
      key: { ...tensor(), transforms: [{ kind: 'channelScale', scope: 'model' }] },
    },
    'calibration',
    /offline with channelFactors/,
  ],
  'a stage of values': [
    { ...scheme(), value: { ...tensor(), stage: 'post-rope' } },
    'value.stage',
    /absent/,
  ],
  'a tensor scale beyond f32': [
    {
      ...scheme({
        key: {
          transforms: [
            { kind: 'tensorScale', scope: 'sequence', statisticsTokens: 8, largest: 1e40 },
          ],
        },
      }),
    },
    'key.transforms[0].largest',
    /2\^32/,
  ],
  'a clamp upside down': [
    { ...scheme({ key: { transforms: [{ ...channelScale(8), clamp: [2, 1] } as never] } }) },
    'key.transforms[0].clamp',
    /\[smallest, largest\]/,
  ],
  'a clamp beyond normal f16 reciprocals': [
    { ...scheme({ key: { transforms: [{ ...channelScale(8), clamp: [1, 65536] } as never] } }) },
    'key.transforms[0].clamp',
    /\[smallest, largest\]/,
  ],
  'statistics without prefill': [
    changed(scheme({ key: { transforms: [channelScale(8)] } }), 'calibration', { kind: 'none' }),
    'calibration.kind',
    /prefill/,
  ],
  'prefill without statistics': [
    changed(scheme(), 'calibration', { kind: 'prefill' }),
    'calibration.kind',
    /none or offline/,
  ],
  'an override of nothing': [
    { ...scheme(), overrides: [{ layers: [0] }] },
    'overrides[0]',
    /key, value or both/,
  ],
  'a broken rule in an override': [
    {
      ...scheme(),
      overrides: [{ layers: [0], value: { ...tokens, window: { recent: 0, flush: 1 } } }],
    },
    'overrides[0].value.window.flush',
    /a multiple of the group size 32/,
  ],
};

describe('rules over several fields', () => {
  it.each(Object.keys(rules))('%s', (name) => {
    const [value, field, text] = rules[name] as (typeof rules)[string];
    const error = refusal(value);
    expect(error.code).toBe('SCHEME_INVALID');
    expect(error.where).toEqual({ field });
    expect(String(error.valid)).toMatch(text);
    expect(error.message).toContain('does not fit the rest');
    expect(error.next).not.toBe('');
  });

  it.each(Object.keys(valid))('accepts %s', (name) => {
    const { calibrate, ...data } = valid[name] as Scheme;
    expect(schemeDataOf(valid[name])).toEqual(data);
    expect(calibrate).toBeUndefined();
  });
});

describe('defineScheme', () => {
  it('freezes a copy to the bottom and leaves the given object alone', () => {
    const given = structuredClone(everything) as unknown as Bag;
    const calibrate = async () => [];
    given.calibrate = calibrate;
    const defined = defineScheme(given as unknown as Scheme);
    expect(deepFrozen(defined)).toBe(true);
    expect(Object.isFrozen(given)).toBe(false);
    expect(anyFrozen(given)).toBe(false);
    expect(defined.calibrate).toBe(calibrate);
    (given.key as Bag).bits = 8;
    (((given.key as Bag).outliers as Bag).shares as Bag).outer = 1;
    expect(defined.key).toEqual(everything.key);
    expect(() => Object.assign(defined.key, { bits: 8 })).toThrow(TypeError);
    expect(defineScheme(defined)).toEqual(defined);
  });

  function deepFrozen(value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return true;
    return Object.isFrozen(value) && Object.values(value).every(deepFrozen);
  }

  function anyFrozen(value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    return Object.isFrozen(value) || Object.values(value).some(anyFrozen);
  }
});

describe('JSON Schema', () => {
  const schema = schemeJsonSchema();

  it.each(Object.keys(valid))('accepts %s', (name) => {
    expect(matchesJsonSchema(schema, JSON.parse(JSON.stringify(valid[name])))).toBe(true);
  });

  it.each(shapeFaults.filter(([path, value]) => path !== 'calibrate' && !Number.isNaN(value)))(
    'refuses %s = %j',
    (path, value) => {
      const data = JSON.parse(JSON.stringify(changed(tokenKeys(), path, value)));
      expect(matchesJsonSchema(schema, data)).toBe(false);
    },
  );

  it('refuses another specVersion and what is no object', () => {
    expect(matchesJsonSchema(schema, { ...tokenKeys(), specVersion: 2 })).toBe(false);
    expect(matchesJsonSchema(schema, null)).toBe(false);
  });
});

describe('calibrations', () => {
  const calibration = { specVersion: 1, scheme: 'abc', provenance: { model: 'm' }, layers: [{}] };
  it.each([
    [null, 'an object'],
    [{ ...calibration, layer: [] }, 'Did you mean "layers"?'],
    [{ ...calibration, specVersion: 2 }, 'specVersion'],
    [
      { ...calibration, layers: [{ key: { thresholds: { outerLow: 1 } } }] },
      'layers[0].key.thresholds',
    ],
    [{ ...calibration, layers: [{ key: { levels: ['1'] } }] }, 'layers[0].key.levels[0]'],
    [{ ...calibration, provenance: { tokens: 5 } }, 'provenance.tokens'],
  ])('refuses %j', (value, text) => {
    expect(() => parseCalibration(value)).toThrow(
      expect.objectContaining({
        code: 'CALIBRATION_INVALID',
        message: expect.stringContaining(text),
      }),
    );
  });
  it('accepts a well-formed one', () => {
    expect(parseCalibration(calibration)).toEqual(calibration);
  });
});
