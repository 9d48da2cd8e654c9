// Texts of two codecs stand beside each other: what a text declares gets a prefix, and nothing else does.
import { sharedExponentCodec } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { codecText } from '../src/shaders/codec-text.js';

function textOf(wgsl: string): string {
  const piece = codecText({ ...sharedExponentCodec(10), wgsl }, 'key_', 'key_memory[index]');
  return typeof piece === 'object' && 'text' in piece ? piece.text : '';
}

it('declares the sizes and the bytes of the group first', () => {
  const text = textOf('');
  expect(text).toContain('const key_GROUP_SIZE = 10u;');
  expect(text).toContain('const key_GROUP_BYTES = 6u;');
  expect(text).toContain('const key_GROUP_WORDS = 2u;');
  expect(text).toContain('fn key_codecByte(offset: u32) -> u32 {');
});

it('renames declarations of the module and their uses', () => {
  const text = textOf(`
    const Step: f32 = 0.5; // const other
    struct Pair { first: f32, second: f32 }
    alias Values = array<f32, GROUP_SIZE>;
    var<private> kept: array<f32, 4>;
    var<workgroup> shared_values: array<f32, 4>;
    /* fn hidden() {} */
    @must_use fn half(x: f32) -> f32 { let second = x * Step; return second; }
    fn decodeGroup(firstByte: u32) -> Values {
      var pair: Pair;
      pair.first = half(f32(codecByte(firstByte)));
      kept[0] = pair.first;
      return Values();
    }
  `);
  for (const expected of [
    'const key_Step: f32 = 0.5;',
    'struct key_Pair { first: f32, second: f32 }',
    'alias key_Values = array<f32, key_GROUP_SIZE>;',
    'var<private> key_kept: array<f32, 4>;',
    'var<workgroup> key_shared_values',
    '@must_use fn key_half(x: f32) -> f32 { let second = x * key_Step; return second; }',
    'fn key_decodeGroup(firstByte: u32) -> key_Values {',
    'var pair: key_Pair;',
    'pair.first = key_half(f32(key_codecByte(firstByte)));',
    'key_kept[0] = pair.first;',
  ])
    expect(text).toContain(expected);
  expect(text).not.toMatch(/other|hidden/);
});
