/**
 * Every preset of the scheme packages.
 */
import type { Scheme } from '@lowbit-kv/core';
import { presets as baselines } from '@lowbit-kv/scheme-baselines';
import { presets as bitdecoding } from '@lowbit-kv/scheme-bitdecoding';
import { presets as innerq } from '@lowbit-kv/scheme-innerq';
import { presets as kivi } from '@lowbit-kv/scheme-kivi';
import { presets as kvquant } from '@lowbit-kv/scheme-kvquant';
import { presets as lowbit } from '@lowbit-kv/scheme-lowbit';
import { presets as oaken } from '@lowbit-kv/scheme-oaken';
import { presets as rotated } from '@lowbit-kv/scheme-rotated';
import { presets as turboquant } from '@lowbit-kv/scheme-turboquant';

export const everyPreset: readonly Scheme[] = [
  ...kivi,
  ...innerq,
  ...oaken,
  ...bitdecoding,
  ...rotated,
  ...turboquant,
  ...kvquant,
  ...lowbit,
  ...baselines,
];
