/**
 * One kernel out of a text of PTX with many: the driver compiles all that it is given, which takes seconds a kernel.
 */
import { LowbitKvError } from '@lowbit-kv/core';

/** As nvcc writes them: an entry goes from its head to the note in front of the next one, or to the end. */
const HEAD = '\n.visible .entry ';
const NOTE = '\n\t// .globl\t';

/** The text with only this kernel in it. Throws KERNEL_IMAGE_INVALID when there is none of the name. */
export function ptxOfKernel(text: string, name: string): string {
  const kept: string[] = [];
  const names: string[] = [];
  let end = 0;
  for (let head = text.indexOf(HEAD); head >= 0; head = text.indexOf(HEAD, end)) {
    const begin = head + 1;
    const note = text.indexOf(NOTE, begin);
    const own = text.slice(head + HEAD.length, text.indexOf('(', begin));
    kept.push(text.slice(end, begin));
    end = note < 0 ? text.length : note + 1;
    if (own === name) kept.push(text.slice(begin, end));
    names.push(own);
  }
  if (names.includes(name)) return kept.join('') + text.slice(end);
  throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel image has no such kernel',
    value: name,
    valid: names,
    next: 'Build the images again from the sources of this version.',
  });
}
