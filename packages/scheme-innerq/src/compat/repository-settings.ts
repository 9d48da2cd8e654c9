/**
 * The settings of the InnerQ repository's evaluation scripts, its own and those it names after KIVI.
 */
import type { SchemeSimulation, SimulationShape } from '@lowbit-kv/core';
import { InnerqRepositoryLayer, type InnerqRepositorySettings } from './repository-layer.js';
import type { RepositoryTensorSettings } from './repository-tensor.js';

/** A simulation whose layers tell more than their keys and values. */
export interface InnerqRepositorySimulation extends SchemeSimulation {
  createLayer(shape: SimulationShape): InnerqRepositoryLayer;
}

const innerqKeys: RepositoryTensorSettings = {
  mode: 'symmetric',
  bits: 3,
  along: 'channels',
  flush: 1,
};
const innerqValues = (mode: RepositoryTensorSettings['mode'], bits: number) =>
  ({ mode, bits, along: 'tokens', flush: 32 }) as const;
const innerqWindows = { sinks: 32, recent: 96, normalizeKeys: true, key: innerqKeys };
const kiviGroups = {
  key: { mode: 'asymmetric', bits: 2, along: 'tokens', flush: 32 },
  value: { mode: 'asymmetric', bits: 2, along: 'channels', flush: 1 },
  normalizeKeys: false,
} as const;

const SETTINGS = {
  base: { ...innerqWindows, value: innerqValues('symmetric', 3) },
  small: { ...innerqWindows, value: innerqValues('symmetric', 2) },
  hybrid: { ...innerqWindows, value: innerqValues('hybrid', 2) },
  kivi: { ...kiviGroups, sinks: 0, recent: 128 },
  'kivi-sink': { ...kiviGroups, sinks: 32, recent: 96 },
} as const satisfies Record<string, InnerqRepositorySettings>;

export type InnerqRepositorySetting = keyof typeof SETTINGS;

/** The simulation of one of the scripts' settings. `kivi` and `kivi-sink` are not KIVI's windows: its keys drain here. */
export function innerqRepository(setting: InnerqRepositorySetting): InnerqRepositorySimulation {
  return Object.freeze({
    id: `innerq-repository-${setting}`,
    title: `InnerQ repository, setting ${setting}`,
    references: ['arXiv:2602.23200', 'https://github.com/mthcom/innerq'],
    stage: 'post-rope',
    createLayer: (shape: SimulationShape) => new InnerqRepositoryLayer(SETTINGS[setting], shape),
  });
}

export const simulations: readonly InnerqRepositorySimulation[] = Object.freeze(
  (Object.keys(SETTINGS) as InnerqRepositorySetting[]).map(innerqRepository),
);
