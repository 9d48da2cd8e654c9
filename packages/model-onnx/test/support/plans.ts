/**
 * Plans of presets for a decoder, calibrated on the decoder's own keys and values where they have to be.
 */
import {
  type Calibration,
  type CalibrationSample,
  createPlan,
  type Plan,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import type { Decoder } from '../../src/decoder/decoder.js';
import { causalAttend } from './causal-attention.js';

export async function planFor(
  decoder: Decoder,
  scheme: Scheme,
  tokens: readonly number[],
): Promise<Plan> {
  if (scheme.calibration.kind !== 'offline') return createPlan(scheme, decoder.geometry);
  const samples: CalibrationSample[] = [];
  const preRope = 'stage' in scheme.key && scheme.key.stage === 'pre-rope';
  const attend = causalAttend(decoder);
  await decoder.forward(tokens, {
    position: 0,
    attend: (layer, tensors) => {
      const kvHeads = decoder.layers[layer]?.geometry.kvHeads ?? 0;
      const key = preRope ? (tensors.keyPreRope as Float32Array) : tensors.key;
      samples.push({ layer, tokens: tokens.length, kvHeads, key, value: tensors.value });
      return attend(layer, tensors);
    },
  });
  async function* stream() {
    yield* samples;
  }
  const calibration: Calibration = {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: { text: 'the test' },
    layers: (await scheme.calibrate?.(stream())) ?? [],
  };
  return createPlan(scheme, decoder.geometry, { calibration });
}
