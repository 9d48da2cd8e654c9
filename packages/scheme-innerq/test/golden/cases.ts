// The golden cases of InnerQ, compared with the f16 quantizers, the codecs and the normative quantizers.
import { quantizeHybrid as quantizeNormativeHybrid } from '../../../core/src/law/hybrid.js';
import { Tally } from '../../../core/test/support/acceptance.js';
import { countDifferent, GoldenFile } from '../../../core/test/support/golden-file.js';
import { groupIndices, pick } from '../../../core/test/support/golden-groups.js';
import {
  ASYMMETRIC_ROUNDINGS,
  allowedCodeDifference,
  f16Steps,
  normativeAsymmetric,
  normativeSymmetric,
  SYMMETRIC_ROUNDINGS,
} from '../../../core/test/support/golden-rules.js';
import { innerqFp16Codec } from '../../src/compat/fp16-codec.js';
import {
  type AsymmetricGroup,
  decodeAsymmetric,
  decodeHybrid,
  decodeSymmetric,
  NAN_AS_INTEGER,
  quantizeAsymmetric,
  quantizeHybrid,
  quantizeSymmetric,
  type SymmetricGroup,
} from '../../src/compat/fp16-group.js';

export interface InnerqCase {
  readonly key: string;
  readonly x: string;
  readonly tensor: 'k' | 'v';
  readonly kind: string;
  readonly shape: readonly [number, number, number, number];
  readonly mode: 'sym' | 'asym' | 'hybrid';
  readonly bits: 2 | 3 | 4;
  readonly group: 32;
}

export const golden = new GoldenFile('innerq');
export const cases = golden.list<InnerqCase>('cases');

/** How a byte of the files stands for the int32 cast of NaN. */
const NAN_CODE = 255;
const MODES = { sym: 'symmetric', asym: 'asymmetric', hybrid: 'hybrid' } as const;

interface ExpectedSymmetric {
  readonly magnitudes: Uint8Array;
  readonly signs: Int8Array;
  readonly scale: number;
  readonly flag: number;
}

interface ExpectedAsymmetric {
  readonly codes: Uint8Array;
  readonly scale: number;
  readonly zero: number;
  readonly flag: number;
}

interface ExpectedGroup {
  readonly values: Float32Array;
  readonly decoded: Float32Array;
  readonly symmetric: ExpectedSymmetric | null;
  readonly asymmetric: ExpectedAsymmetric | null;
  /** Of hybrid groups. */
  readonly useSymmetric: boolean | null;
}

/** Group by group. */
function* groupsOf({ key, x, tensor, shape, group, mode }: InnerqCase): Generator<ExpectedGroup> {
  const symmetric = mode === 'asym' ? null : mode === 'sym' ? `${key}.` : `${key}.sym_`;
  const asymmetric = mode === 'sym' ? null : mode === 'asym' ? `${key}.` : `${key}.asym_`;
  const [values, decoded] = [golden.f16Values(x), golden.f32(`${key}.dequant`)];
  const symmetricParts = symmetric === null ? null : readSymmetric(symmetric);
  const asymmetricParts = asymmetric === null ? null : readAsymmetric(asymmetric);
  const modes = mode === 'hybrid' ? golden.u8(`${key}.use_sym`) : null;
  const along = tensor === 'k' ? 'channels' : 'tokens';
  for (const [i, indices] of groupIndices({ shape, along, size: group }).entries()) {
    yield {
      values: pick(values, indices),
      decoded: pick(decoded, indices),
      symmetric: symmetricParts === null ? null : symmetricParts(i, indices),
      asymmetric: asymmetricParts === null ? null : asymmetricParts(i, indices),
      useSymmetric: modes === null ? null : modes[i] === 1,
    };
  }
}

function readSymmetric(prefix: string) {
  const [magnitudes, signs] = [golden.u8(`${prefix}mag`), golden.i8(`${prefix}sign`)];
  const [scales, flags] = [golden.f16Values(`${prefix}scale`), golden.u8(`${prefix}flags`)];
  return (group: number, indices: Int32Array): ExpectedSymmetric => ({
    magnitudes: Uint8Array.from(indices, (index) => magnitudes[index] as number),
    signs: Int8Array.from(indices, (index) => signs[index] as number),
    scale: scales[group] as number,
    flag: flags[group] as number,
  });
}

function readAsymmetric(prefix: string) {
  const codes = golden.u8(`${prefix}codes`);
  const [scales, zeros] = [golden.f16Values(`${prefix}scale`), golden.f16Values(`${prefix}zero`)];
  const flags = golden.u8(`${prefix}flags`);
  return (group: number, indices: Int32Array): ExpectedAsymmetric => ({
    codes: Uint8Array.from(indices, (index) => codes[index] as number),
    scale: scales[group] as number,
    zero: zeros[group] as number,
    flag: flags[group] as number,
  });
}

const asByte = (code: number) => (code === NAN_AS_INTEGER ? NAN_CODE : code);

/** Codes, signs, parameters and decoded values of every group, flagged ones included, and of the codec's bytes. */
export function compareCompat(one: InnerqCase) {
  const { mode, bits, group } = one;
  const codec = innerqFp16Codec(MODES[mode], bits, group);
  const bytes = new Uint8Array(codec.groupBytes);
  const stored = new Float32Array(group);
  const [codes, parameters, modes] = [new Tally(), new Tally(), new Tally()];
  const [decoded, storedTally] = [new Tally(), new Tally()];
  const addSymmetric = (found: SymmetricGroup, expected: ExpectedSymmetric) => {
    codes.add(countDifferent(found.magnitudes.map(asByte), expected.magnitudes), group);
    codes.add(countDifferent(found.signs, expected.signs), group);
    parameters.add(countDifferent([found.scale], [expected.scale]), 1);
  };
  const addAsymmetric = (found: AsymmetricGroup, expected: ExpectedAsymmetric) => {
    codes.add(countDifferent(found.codes.map(asByte), expected.codes), group);
    const { scale, zero } = expected;
    parameters.add(countDifferent([found.scale, found.zero], [scale, zero]), 2);
  };
  for (const expected of groupsOf(one)) {
    const { values } = expected;
    let result: Float32Array;
    if (mode === 'sym') {
      const found = quantizeSymmetric(values, bits);
      addSymmetric(found, expected.symmetric as ExpectedSymmetric);
      result = decodeSymmetric(found);
    } else if (mode === 'asym') {
      const found = quantizeAsymmetric(values, bits);
      addAsymmetric(found, expected.asymmetric as ExpectedAsymmetric);
      result = decodeAsymmetric(found);
    } else {
      const found = quantizeHybrid(values, bits);
      addSymmetric(found.symmetric, expected.symmetric as ExpectedSymmetric);
      addAsymmetric(found.asymmetric, expected.asymmetric as ExpectedAsymmetric);
      modes.add(found.useSymmetric === expected.useSymmetric ? 0 : 1, 1);
      result = decodeHybrid(found);
    }
    decoded.add(countDifferent(result, expected.decoded), group);
    codec.encodeGroup(values, bytes);
    codec.decodeGroup(bytes, stored);
    storedTally.add(countDifferent(stored, expected.decoded), group);
  }
  return {
    codes: codes.share,
    parameters: parameters.share,
    modes: modes.share,
    decoded: decoded.share,
    stored: storedTally.share,
  };
}

/** The normative quantizers on groups that the original did not break. */
export function compareNormative(one: InnerqCase) {
  const { key, mode, bits, group } = one;
  const [symmetricCodes, asymmetricCodes] = [new Tally(), new Tally()];
  const [symmetricScales, asymmetricScales, modes] = [new Tally(), new Tally(), new Tally()];
  const faults: string[] = [];
  let at = 0;
  for (const expected of groupsOf(one)) {
    const { values } = expected;
    const where = `${key} group ${at++}`;
    if (expected.symmetric?.flag === 0) {
      const ours = normativeSymmetric(values, bits);
      const { magnitudes, signs, scale } = expected.symmetric;
      const theirs = Int8Array.from(magnitudes, (m, i) => m * (signs[i] as number));
      if (ours.scale !== scale) faults.push(`${where}: scale`);
      symmetricScales.add(ours.scale === scale ? 0 : 1, 1);
      symmetricCodes.add(countDifferent(ours.codes, theirs), group);
      for (const [i, code] of ours.codes.entries()) {
        const allowed = allowedCodeDifference((values[i] as number) / scale, SYMMETRIC_ROUNDINGS);
        if (Math.abs(code - (theirs[i] as number)) > allowed) faults.push(`${where}: code ${i}`);
      }
    }
    if (expected.asymmetric?.flag === 0) {
      const ours = normativeAsymmetric(values, mode === 'hybrid' ? bits - 1 : bits);
      const { codes, scale, zero } = expected.asymmetric;
      if (ours.zero !== zero) faults.push(`${where}: zero`);
      if (f16Steps(ours.scale, scale) > 1) faults.push(`${where}: scale`);
      asymmetricScales.add(ours.scale === scale ? 0 : 1, 1);
      asymmetricCodes.add(countDifferent(ours.codes, codes), group);
      for (const [i, code] of ours.codes.entries()) {
        const t = ((values[i] as number) - ours.zero) / ours.scale;
        const allowed = allowedCodeDifference(t, ASYMMETRIC_ROUNDINGS);
        if (Math.abs(code - (codes[i] as number)) > allowed) faults.push(`${where}: code ${i}`);
      }
    }
    if (expected.symmetric?.flag === 0 && expected.asymmetric?.flag === 0) {
      const same = normativeUsesSymmetric(values, bits) === expected.useSymmetric;
      modes.add(same ? 0 : 1, 1);
      if (!same && relativeMargin(values, bits) > 0.02) faults.push(`${where}: mode`);
    }
  }
  return {
    symmetric: { codes: symmetricCodes.share, scales: symmetricScales.share },
    asymmetric: { codes: asymmetricCodes.share, scales: asymmetricScales.share },
    modes: modes.share,
    faults,
  };
}

function normativeUsesSymmetric(values: Float32Array, bits: number): boolean {
  const codes = new Uint8Array(values.length);
  const [scales, zeros] = [new Uint16Array(1), new Uint16Array(1)];
  const rule = { codes: 'signmag', asymmetricBits: bits - 1, tie: 'asymmetric' } as const;
  quantizeNormativeHybrid(values, 1, values.length, bits, rule, codes, scales, zeros);
  return ((scales[0] as number) & 0x8000) === 0;
}

/** How far the errors of the two sides are apart, in the normative arithmetic. */
function relativeMargin(values: Float32Array, bits: number): number {
  const symmetric = normativeSymmetric(values, bits);
  const asymmetric = normativeAsymmetric(values, bits - 1);
  let [symmetricError, asymmetricError] = [0, 0];
  for (const [i, value] of values.entries()) {
    symmetricError += Math.abs((symmetric.codes[i] as number) * symmetric.scale - value);
    const decoded = (asymmetric.codes[i] as number) * asymmetric.scale + asymmetric.zero;
    asymmetricError += Math.abs(decoded - value);
  }
  return Math.abs(symmetricError - asymmetricError) / Math.max(symmetricError, asymmetricError);
}

