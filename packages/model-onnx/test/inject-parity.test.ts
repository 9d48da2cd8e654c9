/**
 * Case onnx-reference-parity on a decoder whose queries, keys and values are those of the case: with a past of one token, and
 * with the same past in a cache of eight slots.
 */
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import { maxAbsDifference } from '@lowbit-kv/core/testing';
import { F16 } from '@lowbit-kv/harness';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import { expect, it } from 'vitest';
import { openInjectedDecoder } from '../src/inject/injected-decoder.js';
import { injectedStep, openInjectedCache } from '../src/inject/injected-sequence.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { GraphWriter, modelBytes } from './support/graph-writer.js';
import { loadCase } from './support/load-case.js';

const { input, expected } = loadCase<
  {
    readonly D: number;
    readonly scale: number;
    readonly q: number[];
    readonly pastK: number[][];
    readonly pastV: number[][];
    readonly newK: number[][];
    readonly newV: number[][];
  },
  { output: number[]; presentLength: number; presentK: number[][]; tolerance: number }
>('onnx-reference-parity');

const { D } = input;
const CAPACITY = 8;
/** The token of the past, and the new one; two more that a decoder is tried with. */
const [PAST, NEW] = [0, 1];
const others = [
  [0.5, -1, 0.25, 2],
  [-2, 1, 0, 1],
];
const TABLES = {
  query: [[0, 0, 0, 0], input.q, ...others],
  key: [...input.pastK, ...input.newK, ...others],
  value: [...input.pastV, ...input.newV, ...others],
};

/** One layer and one head; logits are what attention gives. */
function decoder(capacity: number | null): Uint8Array {
  const graph = new GraphWriter({ elementType: 'float32', opset: 18, seed: 1 });
  const tokens = graph.input('input_ids', ['batch', 'tokens'], DataType.INT64);
  const mask = graph.input('attention_mask', ['batch', 'total'], DataType.INT64);
  const rows = (name: 'query' | 'key' | 'value') => {
    const table = graph.table(name, [TABLES[name].length, D], TABLES[name].flat());
    return graph.node('Unsqueeze', [graph.node('Gather', [table, tokens]), graph.ints(1)]);
  };
  const held = (name: 'key' | 'value') => {
    const past = graph.input(`past_key_values.0.${name}`, ['batch', 1, capacity ?? 'past', D]);
    graph.output(`present.0.${name}`, ['batch', 1, 'total', D]);
    return graph.node('Concat', [past, rows(name)], {
      attributes: { axis: 2 },
      outputs: [`present.0.${name}`],
    });
  };
  const keys = graph.node('Transpose', [held('key')], { attributes: { perm: [0, 1, 3, 2] } });
  const scores = graph.node('Mul', [
    graph.node('MatMul', [rows('query'), keys]),
    graph.number(input.scale),
  ]);
  const size = (value: string) =>
    graph.node('Gather', [graph.node('Shape', [value]), graph.int(1)]);
  const total = size(mask);
  const range = (first: string, axis: number) =>
    graph.node('Unsqueeze', [graph.node('Range', [first, total, graph.int(1)]), graph.ints(axis)]);
  const causal = graph.node('LessOrEqual', [
    range(graph.int(0), 0),
    range(graph.node('Sub', [total, size(tokens)]), 1),
  ]);
  const shown = graph.node('Cast', [graph.node('Unsqueeze', [mask, graph.ints(1, 2)])], {
    attributes: { to: DataType.BOOL },
  });
  const seen = graph.node('And', [causal, shown]);
  const weights = graph.node(
    'Softmax',
    [graph.node('Where', [seen, scores, graph.number(-1e30)])],
    { attributes: { axis: -1 } },
  );
  const attended = graph.node('MatMul', [weights, held('value')]);
  graph.node('Squeeze', [attended, graph.ints(1)], { outputs: ['logits'] });
  graph.output('logits', ['batch', 'tokens', D]);
  return modelBytes(graph.model());
}

it.each([
  ['a past of its own length', null],
  ['a cache of eight slots', CAPACITY],
])('%s', async (_, capacity) => {
  const config = { num_attention_heads: 1, head_dim: D };
  const opened = await openInjectedDecoder(modelFromBytes({ model: decoder(capacity), config }));
  const plan = createPlan(F16, opened.geometry);
  const cache = await openInjectedCache(opened, plan, { backend: referenceBackend(), tokens: 8 });
  const sequence = cache.createSequence();
  const output = new Float32Array(D);
  const onLogits = (_row: number, logits: Float32Array) => {
    output.set(logits);
    // The receiver may do with it what it likes.
    logits.fill(Number.NaN);
  };
  for (const token of [PAST, NEW])
    await injectedStep(opened, cache, sequence, [token], { onLogits });
  expect(maxAbsDifference(output, expected.output)).toBeLessThanOrEqual(expected.tolerance);
  expect(sequence.length).toBe(expected.presentLength);
  const { key, value } = await cache.materialize(sequence, 0);
  expect([...key.data]).toEqual(expected.presentK.flat());
  expect([...value.data]).toEqual([...input.pastV, ...input.newV].flat());
  cache.dispose();
  await opened.dispose();
});
