// Captures and samples for calibration end by their signal, with its reason and without a file.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCalibration } from '@lowbit-kv/core';
import { oakenSm } from '@lowbit-kv/scheme-oaken';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Decoder } from '../src/decoder/decoder.js';
import { captureModel } from '../src/measure/capture.js';
import { modelSamples } from '../src/measure/model-samples.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { openTiny, TOKENS } from './support/cut-and-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-signal-'));
const reason = new Error('stopped by the test');
let decoder: Decoder;
let attention: AttentionSessions;

beforeAll(async () => {
  decoder = await openTiny(tinyDecoder(groupQuery()));
  attention = await AttentionSessions.open({ threads: 1 });
});
afterAll(async () => {
  await Promise.all([decoder.dispose(), attention.release()]);
  rmSync(folder, { recursive: true });
});

/** A signal that fires when it was asked `times` times whether it has. */
function signalAfter(times: number): AbortSignal {
  const controller = new AbortController();
  let asked = 0;
  const { signal } = controller;
  const ask = signal.throwIfAborted.bind(signal);
  signal.throwIfAborted = () => {
    if (asked++ === times) controller.abort(reason);
    ask();
  };
  return signal;
}

describe('captureModel', () => {
  const captured = (path: string, signal: AbortSignal, onLayer = (_: number) => undefined) =>
    captureModel(decoder, attention, TOKENS, path, {
      ...{ layers: [0, 1], queries: 4, preRope: false, provenance: {}, signal },
      onLayer: (layer) => onLayer(layer),
    });

  it('runs a layer less, or writes a tensor less, and leaves no file', async () => {
    const path = join(folder, 'stopped.safetensors');
    // Asked in 2 layers and before each of 6 tensors.
    for (let times = 0; times < 8; times++) {
      const layers: number[] = [];
      const onLayer = (layer: number) => void layers.push(layer);
      await expect(captured(path, signalAfter(times), onLayer)).rejects.toBe(reason);
      expect(layers).toEqual([1, 2].slice(0, times));
      expect(readdirSync(folder)).toEqual([]);
    }
    await captured(path, signalAfter(8));
    expect(existsSync(path)).toBe(true);
  });
});

describe('modelSamples', () => {
  it('ends a calibration in the layer in which the signal fires', async () => {
    // 3 runs of 2 layers.
    for (let times = 0; times < 6; times++) {
      const runs: number[] = [];
      const samples = modelSamples(decoder, attention, TOKENS, {
        ...{ runTokens: 8, stage: 'post-rope', signal: signalAfter(times) },
        onRun: (run) => void runs.push(run),
      });
      await expect(createCalibration(oakenSm, samples, {})).rejects.toBe(reason);
      expect(runs).toEqual([1, 2, 3].slice(0, Math.floor(times / 2)));
    }
  });
});
