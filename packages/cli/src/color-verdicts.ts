/** Verdicts of reports in colours. */
import type { Colors } from './terminal.js';

/** Colours the level of each verdict, in the last column of the table and in the verdict lines. */
export function colorVerdicts(text: string, { green, red, yellow }: Colors): string {
  return text.replace(/(?<= {2}|^[\w-]+: )(safe|care|unsafe|invalid)(?=:|$)/gm, (level) => {
    if (level === 'safe') return green(level);
    return level === 'care' ? yellow(level) : red(level);
  });
}
