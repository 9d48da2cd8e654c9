// The golden cases of KIVI, compared with the codec and with the normative quantizer.
import { decodeF16, roundToF16 } from '@lowbit-kv/core';
import { Tally } from '../../../core/test/support/acceptance.js';
import { countDifferent, GoldenFile } from '../../../core/test/support/golden-file.js';
import { groupIndices, pick } from '../../../core/test/support/golden-groups.js';
import {
  ASYMMETRIC_ROUNDINGS,
  allowedCodeDifference,
  f16Steps,
  normativeAsymmetric,
} from '../../../core/test/support/golden-rules.js';
import { kiviFp16Codec } from '../../src/compat/fp16-codec.js';

export interface KiviCase {
  readonly key: string;
  readonly x: string;
  readonly tensor: 'k' | 'v';
  readonly kind: string;
  readonly shape: readonly [number, number, number, number];
  readonly bits: 2 | 4;
  readonly group: 32 | 64;
}

export const golden = new GoldenFile('kivi');
export const cases = golden.list<KiviCase>('cases');

/** In scales: 1 where a code differs, and the rounding of scales and f16 results. */
const LARGEST_DECODED_DIFFERENCE = 1.02;

/** What the original did to a group: see the README of the golden files. */
export const FLAG = { normal: 0, constant: 1, underflow: 2, overflow: 3, subnormal: 4 } as const;

/** Values and golden results of a case, group by group. */
function* groupsOf({ key, x, tensor, shape, group }: KiviCase) {
  const values = golden.f16Values(x);
  const decoded = golden.f16Values(`${key}.dequant`);
  const words = golden.i32(`${key}.words`);
  const scales = golden.f16Values(`${key}.scale`);
  const minima = golden.f16Values(`${key}.mn`);
  const flags = golden.u8(`${key}.flags`);
  const grouping =
    tensor === 'k'
      ? { shape, along: 'tokens' as const, size: group, channelFirst: true }
      : { shape, along: 'channels' as const, size: group };
  const groups = groupIndices(grouping);
  const wordsPerGroup = words.length / groups.length;
  for (const [i, indices] of groups.entries()) {
    yield {
      values: pick(values, indices),
      decoded: pick(decoded, indices),
      words: words.subarray(i * wordsPerGroup, (i + 1) * wordsPerGroup),
      scale: scales[i] as number,
      minimum: minima[i] as number,
      flag: flags[i] as number,
    };
  }
}

/** Every word, parameter and decoded value, flagged groups included. */
export function compareCodec(one: KiviCase) {
  const { bits, group } = one;
  const codec = kiviFp16Codec(bits, group);
  const bytes = new Uint8Array(codec.groupBytes);
  const decoded = new Float32Array(group);
  const [words, parameters, values] = [new Tally(), new Tally(), new Tally()];
  const codeBytes = codec.groupBytes - 4;
  for (const expected of groupsOf(one)) {
    codec.encodeGroup(expected.values, bytes);
    codec.decodeGroup(bytes, decoded);
    const written = new Int32Array(bytes.slice(0, codeBytes).buffer);
    words.add(countDifferent(written, expected.words), written.length);
    const found = decodeF16(new Uint16Array(bytes.slice(codeBytes).buffer));
    parameters.add(countDifferent(found, [expected.scale, expected.minimum]), 2);
    values.add(countDifferent(decoded, expected.decoded), group);
  }
  return { words: words.share, parameters: parameters.share, decoded: values.share };
}

/** Codes of a normal group that differ from the original's by the tie rule, by more, and what else is off. */
export interface NormativeResult {
  readonly codes: { readonly equal: number; readonly of: number };
  readonly scales: { readonly equal: number; readonly of: number };
  readonly decoded: { readonly equal: number; readonly of: number };
  readonly faults: readonly string[];
}

/** The normative quantizer against the original: groups of flag 0 by the tie rule, the others by what they decode to. */
export function compareNormative(one: KiviCase): NormativeResult {
  const { key, bits, group } = one;
  const [codeTally, scaleTally, decodedTally] = [new Tally(), new Tally(), new Tally()];
  const faults: string[] = [];
  let at = 0;
  for (const expected of groupsOf(one)) {
    const where = `${key} group ${at++}`;
    const ours = normativeAsymmetric(expected.values, bits);
    const decoded = Float32Array.from(ours.codes, (code) => code * ours.scale + ours.zero);
    if (expected.flag === FLAG.normal) {
      if (ours.zero !== expected.minimum) faults.push(`${where}: minimum`);
      if (f16Steps(ours.scale, expected.scale) > 1) faults.push(`${where}: scale`);
      scaleTally.add(ours.scale === expected.scale ? 0 : 1, 1);
      const codes = codesOfWords(expected.words, bits, group);
      codeTally.add(countDifferent(ours.codes, codes), group);
      decodedTally.add(countDifferent(decoded.map(roundToF16), expected.decoded), group);
      for (const [i, code] of ours.codes.entries()) {
        const t = ((expected.values[i] as number) - ours.zero) / ours.scale;
        const allowed = allowedCodeDifference(t, ASYMMETRIC_ROUNDINGS);
        if (Math.abs(code - (codes[i] as number)) > allowed) faults.push(`${where}: code ${i}`);
        const apart = Math.abs((decoded[i] as number) - (expected.decoded[i] as number));
        if (apart > LARGEST_DECODED_DIFFERENCE * expected.scale) faults.push(`${where}: decoded ${i}`);
      }
    } else if (expected.flag === FLAG.constant || expected.flag === FLAG.underflow) {
      if (countDifferent(decoded, expected.decoded) > 0) faults.push(`${where}: decoded`);
    } else if (expected.flag === FLAG.overflow) {
      // The original decodes to NaN here; ours must be within half a step of the input.
      for (const [i, value] of decoded.entries()) {
        const error = Math.abs(value - (expected.values[i] as number));
        if (!(error <= 0.5 * ours.scale * (1 + 2 ** -9))) faults.push(`${where}: error ${i}`);
      }
    } else if (ours.scale !== 2 ** -14) faults.push(`${where}: smallest scale`);
  }
  return {
    codes: codeTally.share,
    scales: scaleTally.share,
    decoded: decodedTally.share,
    faults,
  };
}

function codesOfWords(words: Int32Array, bits: number, count: number): Uint8Array {
  const perWord = 32 / bits;
  return Uint8Array.from(
    { length: count },
    (_, i) =>
      ((words[Math.floor(i / perWord)] as number) >>> (bits * (i % perWord))) & (2 ** bits - 1),
  );
}
