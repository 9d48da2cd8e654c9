/**
 * One kernel out of a text of PTX with many: the driver compiles all that it is given, which takes seconds a kernel.
 */
import { LowbitKvError } from '@lowbit-kv/core';

/** As nvcc writes them: from its head to the note in front of the next one, or to the end. */
const ENTRY = /^\.visible \.entry (\w+)\([\s\S]*?(?=^\t\/\/ \.globl\t|(?![\s\S]))/gm;

/** The text with only this kernel in it. Throws KERNEL_IMAGE_INVALID when there is none of the name. */
export function ptxOfKernel(text: string, name: string): string {
  let isThere = false;
  const result = text.replace(ENTRY, (entry: string, own: string) => {
    if (own !== name) return '';
    isThere = true;
    return entry;
  });
  if (isThere) return result;
  throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel image has no such kernel',
    value: name,
    valid: [...text.matchAll(ENTRY)].map(([, kernel]) => kernel),
    next: 'Build the images again from the sources of this version.',
  });
}
