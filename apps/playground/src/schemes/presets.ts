/** Every preset of the scheme packages, by package. */
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

export const SHELF: readonly { readonly name: string; readonly presets: readonly Scheme[] }[] = [
  { name: 'KIVI', presets: kivi },
  { name: 'InnerQ', presets: innerq },
  { name: 'Oaken', presets: oaken },
  { name: 'KVQuant', presets: kvquant },
  { name: 'BitDecoding', presets: bitdecoding },
  { name: 'Rotated', presets: rotated },
  { name: 'TurboQuant', presets: turboquant },
  { name: 'lowbit', presets: lowbit },
  { name: 'Baselines', presets: baselines },
];

export const PRESETS: ReadonlyMap<string, Scheme> = new Map(
  SHELF.flatMap(({ presets }) => presets.map((scheme) => [scheme.id, scheme] as const)),
);
