/**
 * The headers of kernels/, as the package ships them: what is compiled at run time includes them.
 */
import { readFileSync } from 'node:fs';
import { LowbitKvError } from '@lowbit-kv/core';

const FOLDER = new URL('../kernels/', import.meta.url);
/** Headers of C++ and of the toolkit, which NVRTC has not. */
const STAND_INS = ['cmath', 'cstdint', 'cstring', 'cuda_fp16.h'] as const;

/** Text of a header by its name. Throws KERNEL_IMAGE_INVALID where it cannot be read, as after bundling. */
export function headerText(name: string): string {
  const file = new URL(name, FOLDER);
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
      message: 'the kernel sources of the package cannot be read',
      value: file.href,
      valid: 'the folder `kernels` as the package ships it',
      next: 'Install the package again, and leave it out of bundles.',
      cause,
    });
  }
}

/** Headers of ours that a text includes, directly or not. */
export function headersOf(text: string): string[] {
  const found = new Set<string>();
  const visit = (some: string) => {
    for (const [, name] of some.matchAll(/^#include "(.*)"$/gm)) {
      if (name === undefined || found.has(name)) continue;
      found.add(name);
      visit(headerText(name));
    }
  };
  visit(text);
  return [...found].sort();
}

/** All that NVRTC needs beside a text, by the names of its #include lines. */
export function headersForNvrtc(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ...headersOf(text).map((name) => [name, headerText(name)] as const),
    ...STAND_INS.map((name) => [name, headerText(`nvrtc/${name}`)] as const),
  ]);
}
