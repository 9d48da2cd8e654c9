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
  const bodies = names.map((name) => {
    const own = ptxOfKernel(text, name);
    expect(entriesOf(own)).toEqual([name]);
    expect(own.match(declared)).toEqual(text.match(declared));
    expect(own.match(/\{/g)!.length).toBe(own.match(/\}/g)!.length);
    // To the last instruction.
    expect(own).toMatch(/ret;\s*\}\s*/);
    return own.slice(own.indexOf('.visible .entry')).replaceAll(/^\t\/\/ \.globl.*\n/gm, '');
  });
  // Every line is in one of them.
  const lines = (some: string) => some.split('\n').length - 1;
  const head = text.slice(0, text.indexOf('.visible .entry'));
  const notes = text.slice(head.length).match(/^\t\/\/ \.globl/gm) ?? [];
  const inBodies = bodies.reduce((sum, body) => sum + lines(body), 0);
  expect(lines(head) + notes.length + inBodies).toBe(lines(text));
});

it('a kernel that is not there is named, with those that are', () => {
  expect(() => ptxOfKernel(textOf('pack'), 'nothing')).toThrow(
    expect.objectContaining({ code: 'KERNEL_IMAGE_INVALID', value: 'nothing' }),
  );
});
