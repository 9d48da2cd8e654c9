// Whole layers of the InnerQ repository, run through the simulation.
import { decodeF16 } from '@lowbit-kv/core';
import { Tally } from '../../../core/test/support/acceptance.js';
import { countDifferent } from '../../../core/test/support/golden-file.js';
import {
  allowedCodeDifference,
  f16Steps,
  normativeSymmetric,
} from '../../../core/test/support/golden-rules.js';
import type { AsymmetricGroup, HybridGroup, SymmetricGroup } from '../../src/compat/fp16-group.js';
import { NAN_AS_INTEGER } from '../../src/compat/fp16-group.js';
import type { InnerqRepositoryLayer } from '../../src/compat/repository-layer.js';
import { innerqRepository } from '../../src/compat/repository-settings.js';
import { golden } from './cases.js';

export interface LayerCase {
  readonly key: string;
  readonly preset: 'base' | 'small' | 'hybrid';
  readonly L: number;
  readonly steps: number;
  readonly final: readonly number[];
}

export const layers = golden.list<LayerCase>('layers');

const HEAD_DIM = 64;
const GROUP_SIZE = 32;
const KEY_BITS = 3;
/** f16 roundings between the two: of the divided key, the scale and the quotient. */
const KEY_ROUNDINGS = 3;

/** One head: the prompt in one call, then token by token. */
export function runLayer({ key, preset, L, steps }: LayerCase): InnerqRepositoryLayer {
  const layer = innerqRepository(preset).createLayer({
    layer: 0,
    kvHeads: 1,
    keyHeadDim: HEAD_DIM,
    valueHeadDim: HEAD_DIM,
  });
  const [keys, values] = [golden.f16(`${key}.k`), golden.f16(`${key}.v`)];
  for (let step = 0, token = 0; step <= steps; step++) {
    const end = step === 0 ? L : token + 1;
    const rows = (data: Uint16Array) => data.subarray(token * HEAD_DIM, end * HEAD_DIM);
    layer.append(rows(keys), rows(values));
    token = end;
  }
  return layer;
}

/** The final state against the original's: every code, parameter, factor and returned value. */
export function compareLayer(one: LayerCase) {
  const { key, preset } = one;
  const layer = runLayer(one);
  const [codes, parameters, decoded] = [new Tally(), new Tally(), new Tally()];
  const compare = (tally: Tally, found: ArrayLike<number>, expected: ArrayLike<number>) =>
    tally.add(countDifferent(found, expected), expected.length);

  const keyGroups = layer.groups('key', 0) as readonly SymmetricGroup[];
  const valueGroups = layer.groups('value', 0);
  compareSymmetric(`${key}.k_`, keyGroups, 'channels');
  if (preset === 'hybrid') {
    const hybrid = valueGroups as readonly HybridGroup[];
    compareSymmetric(`${key}.v_sym_`, hybrid.map((group) => group.symmetric), 'tokens');
    compareAsymmetric(`${key}.v_asym_`, hybrid.map((group) => group.asymmetric));
    const modes = hybrid.map(({ useSymmetric }) => (useSymmetric ? 1 : 0));
    compare(codes, modes, golden.u8(`${key}.v_use_sym`));
  } else compareSymmetric(`${key}.v_`, valueGroups as readonly SymmetricGroup[], 'tokens');
  compare(parameters, layer.keyFactors() ?? [], golden.f16Values(`${key}.k_norm`));
  compare(decoded, layer.keys(), decodeF16(golden.f16(`${key}.k_dequant`)));
  compare(decoded, layer.values(), decodeF16(golden.f16(`${key}.v_dequant`)));
  return {
    layer,
    codes: codes.share,
    parameters: parameters.share,
    decoded: decoded.share,
  };

  function compareSymmetric(
    prefix: string,
    groups: readonly SymmetricGroup[],
    along: 'tokens' | 'channels',
  ) {
    const magnitudes = tokenMajor(groups.map((group) => group.magnitudes), along);
    compare(codes, magnitudes, golden.u8(`${prefix}mag`));
    compare(codes, tokenMajor(groups.map(({ signs }) => signs), along), golden.i8(`${prefix}sign`));
    compare(parameters, groups.map(({ scale }) => scale), golden.f16Values(`${prefix}scale`));
  }

  function compareAsymmetric(prefix: string, groups: readonly AsymmetricGroup[]) {
    const found = tokenMajor(groups.map((group) => group.codes), 'tokens');
    compare(codes, found, golden.u8(`${prefix}codes`));
    compare(parameters, groups.map(({ scale }) => scale), golden.f16Values(`${prefix}scale`));
    compare(parameters, groups.map(({ zero }) => zero), golden.f16Values(`${prefix}zero`));
  }
}

/** Groups of one head as `[tokens, headDim]`; the files write 255 for the int32 cast of NaN. */
function tokenMajor(groups: readonly ArrayLike<number>[], along: 'tokens' | 'channels'): number[] {
  const result: number[] = [];
  for (const [g, group] of groups.entries()) {
    for (let i = 0; i < GROUP_SIZE; i++) {
      const code = group[i] as number;
      const at =
        along === 'channels'
          ? g * GROUP_SIZE + i
          : (Math.floor(g / HEAD_DIM) * GROUP_SIZE + i) * HEAD_DIM + (g % HEAD_DIM);
      result[at] = code === NAN_AS_INTEGER ? 255 : code;
    }
  }
  return result;
}


/** Quantized keys by the law with the original's factors: an f32 product with 1/n, then f32 groups. */
export function compareNormalisedKeys({ key, final }: LayerCase) {
  const [, sinks, tokens] = final as [number, number, number];
  const keys = golden.f16Values(`${key}.k`);
  const factors = golden.f16Values(`${key}.k_norm`);
  const [magnitudes, signs] = [golden.u8(`${key}.k_mag`), golden.i8(`${key}.k_sign`)];
  const scales = golden.f16Values(`${key}.k_scale`);
  const [codes, equalScales] = [new Tally(), new Tally()];
  const faults: string[] = [];
  for (let at = 0; at < tokens * HEAD_DIM; at += GROUP_SIZE) {
    const values = Float32Array.from({ length: GROUP_SIZE }, (_, i) => {
      const reciprocal = Math.fround(1 / (factors[(at + i) % HEAD_DIM] as number));
      return (keys[sinks * HEAD_DIM + at + i] as number) * reciprocal;
    });
    const ours = normativeSymmetric(values, KEY_BITS);
    const scale = scales[at / GROUP_SIZE] as number;
    const theirs = Int8Array.from(
      { length: GROUP_SIZE },
      (_, i) => (magnitudes[at + i] as number) * (signs[at + i] as number),
    );
    codes.add(countDifferent(ours.codes, theirs), GROUP_SIZE);
    equalScales.add(ours.scale === scale ? 0 : 1, 1);
    if (f16Steps(ours.scale, scale) > 1) faults.push(`scale at ${at}`);
    for (const [i, code] of ours.codes.entries()) {
      const allowed = allowedCodeDifference((values[i] as number) / ours.scale, KEY_ROUNDINGS);
      if (Math.abs(code - (theirs[i] as number)) > allowed) faults.push(`code at ${at + i}`);
    }
  }
  return { codes: codes.share, scales: equalScales.share, faults };
}
