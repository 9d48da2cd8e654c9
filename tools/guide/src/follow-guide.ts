/**
 * Does what a guide tells its reader, and finds what it says is printed.
 */
import { expect } from 'vitest';
import type { GuideStep } from './guide-steps.js';

export interface Reader {
  write(path: string, text: string): void;
  /** Returns what the command printed. */
  run(command: string): string;
  /** Looks at the whole output of commands. */
  readonly look?: (commands: readonly string[], output: readonly string[]) => void;
}

/** Returns the commands that were run. */
export function followGuide(steps: readonly GuideStep[], reader: Reader): string[] {
  const executed: string[] = [];
  for (const step of steps) {
    if (step.kind === 'file') {
      reader.write(step.path, step.text);
      continue;
    }
    const { lines, printed } = step;
    const output = lines.flatMap((line) => reader.run(line).split('\n')).map(spaced);
    executed.push(...lines);
    for (const line of printed)
      expect(output, lines.join('; ')).toContainEqual(expect.stringContaining(spaced(line)));
    reader.look?.(lines, output);
  }
  return executed;
}

/** The width of columns is no promise. */
function spaced(line: string): string {
  return line.trim().replace(/\s+/g, ' ');
}
