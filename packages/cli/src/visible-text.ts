/**
 * Text from files, models and devices as a terminal may show it: what would move its cursor, rename its window or turn lines
 * around is written out.
 */

/** Colours and styles that hide nothing: all that this command uses. */
const STYLE = '\u001b\\[(?:[0-47]|2[2-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7])m';
const TURNING = '\u202a-\u202e\u2066-\u2069';
const KEPT = `${STYLE}|\\r?\\n|\\t`;

/** Line ends, tabs and styles stay; other control characters, and those that change the direction of text, become `\u001b`. */
export function visibleText(text: string): string {
  const pattern = new RegExp(`(${KEPT})|[\\p{Cc}${TURNING}]`, 'gu');
  return text.replace(pattern, (found: string, kept: string | undefined) =>
    kept === undefined ? `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}` : found,
  );
}
