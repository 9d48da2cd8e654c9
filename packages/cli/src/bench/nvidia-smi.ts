/**
 * What NVIDIA's tool says of a card: driver and clocks, which no API of a backend tells.
 */
import { execFile } from 'node:child_process';

export interface CardState {
  readonly driver: string;
  /** Of now, in words. */
  readonly clocks: string;
}

const FIELDS = 'driver_version,clocks.sm,clocks.mem';
const PATIENCE_MILLISECONDS = 10_000;

/** Of one card, or of the only one. Null where the tool is missing or knows more than one. */
export function cardState(uuid?: string): Promise<CardState | null> {
  const which = uuid === undefined ? [] : ['-i', uuid];
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      [...which, `--query-gpu=${FIELDS}`, '--format=csv,noheader'],
      { timeout: PATIENCE_MILLISECONDS },
      (error, stdout) => resolve(error === null ? parseCardState(stdout) : null),
    );
  });
}

/** Of the tool's output: one line, `580.159.04, 345 MHz, 3201 MHz`. */
export function parseCardState(text: string): CardState | null {
  const lines = text.trim().split('\n');
  const [driver, sm, memory, ...more] = (lines[0] ?? '').split(', ');
  if (lines.length !== 1 || !driver || !sm || !memory || more.length > 0) return null;
  return { driver: `driver ${driver}`, clocks: `${sm}, memory ${memory}` };
}
