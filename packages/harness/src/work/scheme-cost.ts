/**
 * How long schemes take in proportion to f16, so that shards are even. Read off their data alone: every process has to find
 * the same. Of presets on the shipped capture (reference backend) the quickest take what f16 takes, those with offline
 * calibration half as much again, those that rotate keys when they attend three times as much, simulations too.
 */
import type { Scheme } from '@lowbit-kv/core';
import { calibrationStage } from '../pre-rope.js';

export const F16_COST = 4;
const CALIBRATED = 2;
const PRE_ROPE = 4;
const CODEC = 4;
const SIMULATION = 12;

export function schemeCost(scheme: Scheme): number {
  return (
    F16_COST +
    (scheme.calibration.kind === 'offline' ? CALIBRATED : 0) +
    (calibrationStage(scheme) === 'pre-rope' ? PRE_ROPE : 0) +
    ((scheme.codecs ?? []).length > 0 ? CODEC : 0)
  );
}

export const SIMULATION_COST = SIMULATION;
