// The loop as it stands: without quantization it is the loop with the model's own past, packed it is near and small.
import { fileURLToPath } from 'node:url';
import { defineScheme } from '@lowbit-kv/core';
import { inlineScheme } from '@lowbit-kv/core/testing';
import * as ort from 'onnxruntime-node';
import { expect, test } from 'vitest';
import { generate } from '../loop.js';

const folder = fileURLToPath(new URL('../../../fixtures/tiny-decoder', import.meta.url));
const prompt = Array.from({ length: 100 }, (_, i) => (i * 7) % 256);

/** The same loop with what the model gave back as its next past. */
async function plainLoop(maxTokens: number): Promise<number[]> {
  const session = await ort.InferenceSession.create(`${folder}/onnx/model.onnx`);
  const integers = (values: readonly number[]) =>
    new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
  const pasts = session.inputNames.filter((name) => name.startsWith('past_key_values.'));
  let past = Object.fromEntries(
    pasts.map((name) => [name, new ort.Tensor('float32', new Float32Array(0), [1, 2, 0, 32])]),
  );
  const made: number[] = [];
  let [next, length] = [prompt, 0];
  while (made.length < maxTokens) {
    length += next.length;
    const mask = integers(Array(length).fill(1));
    const outputs = await session.run({ input_ids: integers(next), attention_mask: mask, ...past });
    const last = (outputs.logits.data as Float32Array).subarray(-262);
    next = [last.indexOf(Math.max(...last))];
    made.push(...next);
    past = Object.fromEntries(
      pasts.map((name) => [name, outputs[name.replace('past_key_values', 'present')]]),
    ) as typeof past;
  }
  await session.release();
  return made;
}

test('with f16 it writes what the plain loop writes', async () => {
  const f16 = defineScheme(inlineScheme({ key: { bits: 16 }, value: { bits: 16 } }));
  const { tokens } = await generate(folder, prompt, 40, f16);
  expect(tokens).toEqual(await plainLoop(40));
  expect(new Set(tokens).size).toBeGreaterThan(3);
});

test('packed it begins with the same tokens, in under a quarter of what past_key_values take', async () => {
  const { tokens, length, bytes, f32Bytes } = await generate(folder, prompt, 40);
  expect(tokens).toHaveLength(40);
  // A model of random weights soon goes another way; eight of 262 tokens are not the same by chance.
  expect(tokens.slice(0, 8)).toEqual(await plainLoop(8));
  expect(length).toBe(139);
  expect(bytes).toBeLessThan(f32Bytes / 4);
  expect(bytes).toBeGreaterThan(f32Bytes / 8);
});
