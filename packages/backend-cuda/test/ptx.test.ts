// Kernels taken one by one out of the PTX that is shipped.
import { expect, it } from 'vitest';
import { ptxOfKernel } from '../src/driver/ptx.js';
import { kernelManifest, partBytes } from '../src/images.js';

const image = kernelManifest().images.find(({ kind }) => kind === 'ptx')!;
const textOf = (part: 'attend' | 'pack') =>
  new TextDecoder().decode(partBytes(image.parts[part])).replace(/\0+$/, '');

const entriesOf = (text: string) => [...text.matchAll(/\.entry (\w+)/g)].map(([, name]) => name);

it.each(['attend', 'pack'] as const)('%s: each with all that is declared around it', (part) => {
  const text = textOf(part);
  const names = Object.keys(image.parts[part].kernels);
  expect(entriesOf(text).sort()).toEqual(names.toSorted());
  const declared = /^\.(version|target|address_size|extern).*$/gm;
  let bytes = 0;
  for (const name of names) {
    const own = ptxOfKernel(text, name);
    expect(entriesOf(own)).toEqual([name]);
    expect(own.match(declared)).toEqual(text.match(declared));
    expect(own.match(/\{/g)!.length).toBe(own.match(/\}/g)!.length);
    // To the last instruction.
    expect(own).toMatch(/ret;\s*\}\s*/);
    bytes += own.length;
  }
  // Nothing is in two of them but what is around.
  const around = ptxOfKernel(text, names[0]!).length - entryBytes(text, names[0]!);
  expect(bytes - (names.length - 1) * around).toBe(text.length);
});

function entryBytes(text: string, name: string): number {
  const first = text.indexOf(`.visible .entry ${name}(`);
  return text.indexOf('\n}\n', first) + 3 - first;
}

it('a kernel that is not there is named, with those that are', () => {
  expect(() => ptxOfKernel(textOf('pack'), 'nothing')).toThrow(
    expect.objectContaining({ code: 'KERNEL_IMAGE_INVALID', value: 'nothing' }),
  );
});
