// Signals end comparisons and tuning within a step, with their reason.
import { referenceBackend } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type CompareOptions,
  compareSchemes,
  compareShard,
  type TuneOptions,
  tuneScheme,
} from '../src/index.js';
import { bandScheme, channelwise } from './support/schemes.js';
import { CONTEXT } from './support/shards.js';
import { rounding } from './support/simulations.js';
import { syntheticCapture } from './support/synthetic-capture.js';

const capture = await syntheticCapture({ queries: 60 });
const reason = new Error('stopped by the test');

interface Work {
  readonly signal: AbortSignal;
  /** Called as work goes on, with a name of the piece. */
  readonly onPiece: (piece: string) => void;
}

const compared = ({ signal, onPiece }: Work): CompareOptions => ({
  capture,
  schemes: [channelwise('four', 4), bandScheme('bands')],
  simulations: [rounding('coarse', 0.5)],
  backend: referenceBackend(),
  positions: 60,
  signal,
  onProgress: ({ id, step }) => onPiece(`${id} ${step}`),
});

const tuned = ({ signal, onPiece }: Work): TuneOptions => ({
  capture,
  presets: [channelwise('four', 4), channelwise('two', 2)],
  budgetBits: 8,
  backend: referenceBackend(),
  windows: { sinks: 0, recent: 16 },
  positions: 12,
  signal,
  onProgress: ({ phase, what }) => onPiece(`${phase} ${what}`),
});

const works: [string, (work: Work) => Promise<unknown>][] = [
  ['compareSchemes', (work) => compareSchemes(compared(work))],
  ['compareShard', (work) => compareShard(compared(work), { index: 1, of: 1 }, CONTEXT)],
  ['tuneScheme', (work) => tuneScheme(tuned(work))],
];

describe.each(works)('%s', async (_, run) => {
  const pieces: string[] = [];
  const onPiece = (piece: string) => void pieces.push(piece);
  await run({ signal: new AbortController().signal, onPiece });

  it('does nothing when the signal has fired', async () => {
    const done: string[] = [];
    const signal = AbortSignal.abort(reason);
    await expect(run({ signal, onPiece: (piece) => done.push(piece) })).rejects.toBe(reason);
    expect(done).toEqual([]);
  });

  it('ends after the piece in which the signal fires, wherever that is', async () => {
    expect(pieces.length).toBeGreaterThan(5);
    // The last piece ends the work.
    for (const last of [0, 2, Math.floor(pieces.length / 2), pieces.length - 2]) {
      const controller = new AbortController();
      const done: string[] = [];
      const work = run({
        signal: controller.signal,
        onPiece(piece) {
          if (done.push(piece) === last + 1) controller.abort(reason);
        },
      });
      await expect(work).rejects.toBe(reason);
      expect(done).toEqual(pieces.slice(0, last + 1));
    }
  });

  it('gives timers a turn', async () => {
    const controller = new AbortController();
    const done: string[] = [];
    const work = run({
      signal: controller.signal,
      onPiece(piece) {
        if (done.push(piece) === 1) setTimeout(() => controller.abort(reason), 1);
      },
    });
    await expect(work).rejects.toBe(reason);
    expect(done.length).toBeLessThan(pieces.length);
  });
});

it('the reason is that of AbortSignal where none is given', async () => {
  const work = compareSchemes(compared({ signal: AbortSignal.abort(), onPiece: () => undefined }));
  await expect(work).rejects.toMatchObject({ name: 'AbortError' });
});
