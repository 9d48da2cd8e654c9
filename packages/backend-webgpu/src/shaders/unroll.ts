/**
 * Writes out the passes of loops: drivers keep larger loops, and then what they index lies in memory instead of registers.
 */

/** What a loop may count from, to and by: literals, and constants by name. */
export type LoopNumbers = Readonly<Record<string, unknown>>;

const LOOP = /for \(var (\w+) = (\w+); \1 < (\w+); \1 \+= (\w+)\) \{/;

/** Every loop of the text. Throws a TypeError for one whose length is not known. */
export function unrolled(text: string, numbers: LoopNumbers): string {
  const loop = LOOP.exec(text);
  if (loop === null) {
    if (/\b(for|while|loop)\b/.test(withoutComments(text)))
      throw new TypeError(`a loop of unknown length: ${text}`);
    return text;
  }
  const [head, name = '', ...bounds] = loop;
  const [first = 0, end = 0, step = 0] = bounds.map((bound) => numberOf(bound, numbers));
  if (step === 0) throw new TypeError(`a loop without an end: ${head}`);
  const open = loop.index + head.length;
  const close = closingBrace(text, open);
  const body = text.slice(open, close);
  const counter = new RegExp(`\\b${name}\\b`, 'g');
  const passes: string[] = [];
  for (let i = first; i < end; i += step)
    passes.push(`{${unrolled(body.replace(counter, `${i}u`), numbers)}}`);
  return [
    text.slice(0, loop.index),
    passes.join(' '),
    unrolled(text.slice(close + 1), numbers),
  ].join('');
}

function numberOf(bound: string, numbers: LoopNumbers): number {
  const value = /^\d+u$/.test(bound) ? Number.parseInt(bound, 10) : numbers[bound];
  if (typeof value !== 'number') throw new TypeError(`${bound} is no number of the constants`);
  return value;
}

/** Of the block that opens before `from`. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    if (text[i] === '{') depth++;
    if (text[i] === '}' && --depth === 0) return i;
  }
  throw new TypeError('a block without an end');
}

function withoutComments(text: string): string {
  return text.replace(/\/\/.*/g, '');
}
