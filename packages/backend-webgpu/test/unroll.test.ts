// Loops of shaders are written out pass by pass, and nothing else changes.
import { describe, expect, it } from 'vitest';
import { unrolled } from '../src/shaders/unroll.js';

const flat = (text: string) => text.replace(/\s+/g, ' ').trim();

describe('unrolled', () => {
  it('writes every pass with its number, and leaves the rest', () => {
    const text = `// For all of them.
a = 0u;
for (var i = 0u; i < LENGTH; i += 1u) {
  a += i * it;
}
b = a;
for (var k = 2u; k < 8u; k += STEP) {
  c(k);
}`;
    expect(flat(unrolled(text, { LENGTH: 2, STEP: 3 }))).toBe(
      '// For all of them. a = 0u; { a += 0u * it; } { a += 1u * it; } b = a; { c(2u); } { c(5u); }',
    );
  });

  it('writes loops inside loops', () => {
    const text =
      'for (var i = 0u; i < 4u; i += 2u) { for (var s = i; s < 4u; s += 2u) { if (x) { f(i, s); } } }';
    expect(flat(unrolled(text, {}))).toBe(
      '{ { if (x) { f(0u, 0u); } } { if (x) { f(0u, 2u); } } } { { if (x) { f(2u, 2u); } } }',
    );
  });

  it('writes nothing for a loop without passes', () => {
    expect(flat(unrolled('a; for (var i = 3u; i < 3u; i += 1u) { f(i); } b;', {}))).toBe('a; b;');
  });

  it.each([
    ['an end that is no constant', 'for (var i = 0u; i < count; i += 1u) { f(i); }'],
    ['a step of nothing', 'for (var i = 0u; i < 4u; i += 0u) { f(i); }'],
    ['another kind of loop', 'while (a < 4u) { a += 1u; }'],
    ['a start that is computed', 'for (var i = a + 1u; i < 4u; i += 1u) { f(i); }'],
    ['a block without an end', 'for (var i = 0u; i < 4u; i += 1u) { f(i);'],
  ])('refuses %s', (_, text) => {
    expect(() => unrolled(text, { LENGTH: 4 })).toThrow(TypeError);
  });
});
