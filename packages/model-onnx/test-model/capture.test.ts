/**
 * A capture of SmolLM2-135M-Instruct is the shipped one, which torch made, up to the rounding to f16.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nmse } from '@lowbit-kv/core/testing';
import { defaultCapturePath, openSafetensors } from '@lowbit-kv/harness';
import { expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { captureModel } from '../src/measure/capture.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { modelFiles, textTokens } from './support/real-model.js';

/** Rounding of each element to f16 alone gives about 1e-7 relative; equal f32 values that round apart are rare. */
const NMSE = 1e-8;

it('reproduces the shipped capture', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lowbit-kv-capture-'));
  const decoder = await openCutDecoder(await modelFiles());
  const attention = await AttentionSessions.open();
  try {
    const path = join(folder, 'capture.safetensors');
    await captureModel(decoder, attention, await textTokens(1024), path, {
      layers: [0, 10, 18, 29],
      queries: 128,
      preRope: false,
      provenance: {},
    });
    const made = await openSafetensors(path);
    const shipped = await openSafetensors(defaultCapturePath());
    try {
      expect([...made.tensors.keys()].sort()).toEqual([...shipped.tensors.keys()].sort());
      for (const [name, { shape }] of shipped.tensors) {
        expect(made.tensors.get(name)?.shape).toEqual(shape);
        expect(nmse(await made.readF32(name), await shipped.readF32(name)), name).toBeLessThan(
          NMSE,
        );
      }
      for (const key of ['kv_heads', 'query_heads', 'head_dim', 'tokens', 'scale', 'rope_style'])
        expect(made.metadata.get(key), key).toBe(shipped.metadata.get(key));
    } finally {
      await Promise.all([made.close(), shipped.close()]);
    }
  } finally {
    await Promise.all([decoder.dispose(), attention.release()]);
    await rm(folder, { recursive: true });
  }
});
