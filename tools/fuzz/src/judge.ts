/**
 * Runs one mutant and says how it ended: refused with a code, accepted, or a find.
 */
import { getHeapStatistics } from 'node:v8';
import { LowbitKvError } from '@lowbit-kv/core';
import { type OpenTarget, type Target, WrongAnswer } from './target.js';

/** Of a mutant, measured twice: other processes may be at work. */
const LONGEST_SECONDS = 1;
/** Machines of CI have other tests to run meanwhile. */
const PATIENCE = process.env.CI === 'true' ? 4 : 1;
/** Room for what every reader makes whatever it reads, and for the look that checks it. */
const MEMORY_FLOOR = 24 * 2 ** 20;
const MEMORY_PER_BYTE = 64;
/** Of a message: what a file says is shortened in it. */
const LONGEST_MESSAGE = 4000;

export type Ending =
  | { readonly kind: 'refused' | 'accepted' }
  | {
      readonly kind: 'find';
      readonly problem: string;
      /** Equal for finds that are likely one fault. */
      readonly signature: string;
    };

export async function judge(
  { codes, seconds: own = LONGEST_SECONDS }: Pick<Target, 'codes' | 'seconds'>,
  target: OpenTarget,
  mutant: Uint8Array,
): Promise<Ending> {
  const longest = own * PATIENCE;
  const first = await measured(target, mutant);
  const byEnding = ofEnding(codes, first.error);
  if (byEnding.kind === 'find') return byEnding;
  const polluted = pollution();
  if (polluted !== null) return find(`prototype pollution: ${polluted}`, 'pollution');
  const limit = MEMORY_FLOOR + MEMORY_PER_BYTE * mutant.length;
  if (first.seconds <= longest && first.bytes <= limit) return byEnding;
  const second = await measured(target, mutant);
  const seconds = Math.min(first.seconds, second.seconds);
  if (seconds > longest) return find(`it took ${seconds.toFixed(1)} s`, 'slow');
  const bytes = Math.min(first.bytes, second.bytes);
  if (bytes <= limit) return byEnding;
  return find(`${mutant.length} bytes made it allocate ${bytes}, more than ${limit}`, 'memory');
}

async function measured(target: OpenTarget, mutant: Uint8Array) {
  const copy = Uint8Array.from(mutant);
  const before = allocated();
  const start = performance.now();
  const error = await target.check(copy).then(
    () => null,
    (reason: unknown) => reason ?? new Error('it threw nothing'),
  );
  return { error, seconds: (performance.now() - start) / 1000, bytes: allocated() - before };
}

function allocated(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

function ofEnding(codes: Target['codes'], error: unknown): Ending {
  if (error === null) return { kind: 'accepted' };
  if (!LowbitKvError.is(error)) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const wrong = error instanceof WrongAnswer ? 'wrong answer' : `${name} without a code`;
    return find(`${wrong}: ${message.slice(0, 300)}`, `${name} ${placeOf(error)}`);
  }
  const { code, message, next } = error;
  if (!codes.includes(code)) return find(`code ${code}: ${message.slice(0, 300)}`, `code ${code}`);
  if (message.length > LONGEST_MESSAGE)
    return find(`a message of ${message.length} characters`, `long message ${code}`);
  if (next.trim() === '') return find(`${code} names no next step`, `no next step ${code}`);
  return { kind: 'refused' };
}

function find(problem: string, signature: string): Ending {
  return { kind: 'find', problem, signature };
}

/** The first line of our own in the stack, without its column. */
function placeOf(error: unknown): string {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : [];
  const [, file = '', line = ''] =
    lines
      .filter((text) => !text.includes('node_modules'))
      .map((text) => /(?:packages|tools)\/([\w./-]+):(\d+):\d+/.exec(text))
      .find((match) => match !== null) ?? [];
  return file === '' ? 'elsewhere' : `${file}:${line}`;
}

const WATCHED = [Object, Array, Function, String, Number, Boolean, Map, Uint8Array, Promise];
const OWN = WATCHED.map((type) => Reflect.ownKeys(type.prototype).length);

/** What was put where every object has it; it is taken away again. */
function pollution(): string | null {
  for (const [i, type] of WATCHED.entries()) {
    const keys = Reflect.ownKeys(type.prototype);
    const [added] = keys.slice(OWN[i]);
    if (added === undefined) continue;
    for (const key of keys.slice(OWN[i])) Reflect.deleteProperty(type.prototype, key);
    return `${type.name}.prototype got ${String(added)}`;
  }
  return null;
}
