// The golden cases of Oaken's artifact, compared with the fake quantization and with the package's own encoding.
import { roundToF16 } from '@lowbit-kv/core';
import { Tally } from '../../../core/test/support/acceptance.js';
import { DrivenCache } from '../../../core/test/support/driven-cache.js';
import { countDifferent, GoldenFile } from '../../../core/test/support/golden-file.js';
import {
  type ArtifactThresholds,
  fakeQuantize,
  groupsOf,
  type OakenArtifactVariant,
} from '../../src/compat/fake-quantization.js';
import { oaken } from '../../src/index.js';
import { fixedCalibration } from '../support.js';

export interface OakenCase {
  readonly key: string;
  readonly x: string;
  readonly kind: string;
  readonly shape: readonly [number, number, number];
  readonly variant: 'full' | 'no_shift' | 'middle_only';
  readonly nan_tokens: readonly number[];
}

export interface ProfileCase {
  readonly key: string;
  readonly fractions: readonly [number, number, number];
  readonly runs: number;
  readonly shape: readonly [number, number, number];
  readonly json: Record<
    'key' | 'value',
    { readonly upper_threshold: number[][]; readonly lower_threshold: number[][] }
  >;
}

export const golden = new GoldenFile('oaken');
export const cases = golden.list<OakenCase>('cases');
export const profiles = golden.list<ProfileCase>('profiles');

/** The averages of a tensor, rounded to f16 as both sides do before they use them. */
export function thresholdsOf(prefix: string): ArtifactThresholds {
  const [upper, lower] = [golden.f32(`${prefix}.upper`), golden.f32(`${prefix}.lower`)];
  const edge = (values: Float32Array, i: number) => roundToF16(values[i] as number);
  return {
    outerLow: edge(lower, 0),
    outerHigh: edge(upper, 0),
    innerLow: edge(lower, 1),
    innerHigh: edge(upper, 1),
  };
}

/** Outputs and groups of the artifact against the fake quantization. */
export function compareArtifact({ key, x, shape, variant }: OakenCase) {
  const values = golden.f16Values(x);
  const prefix = x.slice(0, -'.x'.length);
  const thresholds = thresholdsOf(prefix);
  const mode = variant.replace('_', '-') as OakenArtifactVariant;
  const [groups, decoded] = [new Tally(), new Tally()];
  const expectedGroups = golden.u8(`${prefix}.group`);
  groups.add(countDifferent(groupsOf(values, thresholds), expectedGroups), expectedGroups.length);
  const found = fakeQuantize(values, shape[2], thresholds, mode);
  decoded.add(countDifferent(found, golden.f16Values(key)), found.length);
  return { groups: groups.share, decoded: decoded.share, found };
}

/** Root mean square errors against the input, without the tokens that the artifact makes NaN. */
export async function compareErrors({ key, x, shape, nan_tokens }: OakenCase) {
  const [, tokens, width] = shape;
  const input = golden.f16Values(x);
  const thresholds = thresholdsOf(x.slice(0, -'.x'.length));
  const rmse = (values: Float32Array) => {
    let sum = 0;
    for (let token = 0; token < tokens; token++) {
      if (nan_tokens.includes(token)) continue;
      for (let i = token * width; i < (token + 1) * width; i++)
        sum += ((values[i] as number) - (input[i] as number)) ** 2;
    }
    return Math.sqrt(sum / ((tokens - nan_tokens.length) * width));
  };
  const encoded = async (middle: 'sm' | 'mm') => {
    const scheme = oaken({ middle, scope: 'token', reserve: 64 });
    const bits = golden.f16(x);
    const headDim = 128;
    const cache = await DrivenCache.open(scheme, {
      tokens,
      kvHeads: width / headDim,
      headDim,
      key: bits,
      value: bits,
      calibration: fixedCalibration(scheme, thresholds),
    });
    await cache.append(tokens);
    return rmse((await cache.materialize()).key);
  };
  return {
    original: rmse(golden.f16Values(key)),
    sm: await encoded('sm'),
    mm: await encoded('mm'),
  };
}
