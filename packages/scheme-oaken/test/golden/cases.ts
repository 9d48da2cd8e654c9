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
import { profileThresholds } from '../../src/compat/profile.js';
import { calibrateThresholds, oaken } from '../../src/index.js';
import { fixedCalibration, sequence } from '../support.js';

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

/** Profile of the artifact, and calibration of the package, from the samples of a profile. */
export async function compareProfile(profile: ProfileCase) {
  const [outer, middle, inner] = profile.fractions;
  const shares = { outer, middle, inner };
  const runs = { k: runsOf(profile, 'k'), v: runsOf(profile, 'v') };
  const averages = new Tally();
  for (const [tensor, name] of [
    ['k', 'key'],
    ['v', 'value'],
  ] as const) {
    const found = profileThresholds(runs[tensor], shares);
    const { upper_threshold: upper, lower_threshold: lower } = profile.json[name];
    const expected = [...(upper[0] as number[]), ...(lower[0] as number[])];
    averages.add(countDifferent([...found.upper, ...found.lower], expected), expected.length);
  }
  const samples = runs.k.map((key, run) => ({
    layer: 0,
    tokens: profile.shape[1],
    kvHeads: 1,
    key,
    value: runs.v[run] as Float32Array,
  }));
  const [layer] = await calibrateThresholds(sequence(samples), shares);
  const calibrated = new Tally();
  for (const [found, tensor] of [
    [layer?.key, 'k'],
    [layer?.value, 'v'],
  ] as const) {
    const expected = Object.values(thresholdsOf(`${profile.key}.${tensor}`));
    const { outerLow, outerHigh, innerLow, innerHigh } = found?.thresholds as ArtifactThresholds;
    calibrated.add(
      countDifferent([outerLow, outerHigh, innerLow, innerHigh], expected),
      expected.length,
    );
  }
  return { averages: averages.share, calibrated: calibrated.share };
}

function runsOf({ key, runs, shape }: ProfileCase, tensor: 'k' | 'v'): Float32Array[] {
  // The profile of other fractions shares its samples.
  const values = golden.f16Values(`${key.replace('.f2_94_4', '')}.${tensor}.x`);
  const size = shape[1] * shape[2];
  return Array.from({ length: runs }, (_, run) => values.subarray(run * size, (run + 1) * size));
}
