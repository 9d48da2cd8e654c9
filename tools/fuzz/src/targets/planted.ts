/** Readers with one fault each: the fuzzer must see every one of them. Only its tests run them. */
import { LowbitKvError } from '@lowbit-kv/core';
import { type OpenTarget, type Target, WrongAnswer } from '../target.js';

/** Mutants are one byte below `BYTES`; they fail at this one. */
export const FAULTY_BYTE = 7;
export const BYTES = 16;

export const planted: readonly Target[] = [
  faulty('planted-type-error', () => (undefined as unknown as string).trim()),
  faulty('planted-wrong-answer', () => {
    throw new WrongAnswer('2 + 2 = 5');
  }),
  faulty('planted-other-code', () => {
    throw new LowbitKvError('STEP_STATE', { message: 'not of this reader', next: 'None.' });
  }),
  faulty('planted-pollution', () => {
    (Object.prototype as Record<string, unknown>).polluted = true;
  }),
  faulty('planted-memory', () => {
    kept.push(new Uint8Array(200e6));
  }),
  faulty('planted-slow', () => {
    const end = performance.now() + 1200;
    while (performance.now() < end);
  }),
  faulty('planted-endless', () => {
    while (kept.length < Number.POSITIVE_INFINITY);
  }),
  faulty('planted-out-of-memory', () => {
    const all: number[][] = [];
    for (;;) all.push(Array(1e6).fill(all.length));
  }),
  faulty('planted-exit', () => {
    process.exit(9);
  }),
];

const kept: Uint8Array[] = [];

function faulty(name: string, fault: () => void): Target {
  const open = async (): Promise<OpenTarget> => ({
    mutant: (random) => Uint8Array.of(random.below(BYTES)),
    async check([byte = 0]) {
      if (byte === FAULTY_BYTE) fault();
      else if (byte % 2 === 0)
        throw new LowbitKvError('OPTION_INVALID', { message: 'an even byte', next: 'None.' });
    },
  });
  return { name, codes: ['OPTION_INVALID'], seconds: 0.25, open };
}
