// Graphs that no exporter writes: walks through them end all the same.
import { create } from '@bufbuild/protobuf';
import {
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  NodeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf';
import { expect, it } from 'vitest';
import { GraphView } from '../src/attention/graph-view.js';
import { dimsOfResults } from '../src/attention/shape-rules.js';
import { staticVector } from '../src/attention/static-values.js';

function modelOf(
  nodes: readonly (readonly [op: string, input: string, output: string])[],
): ModelProto {
  const node = nodes.map(([opType, input, output]) =>
    create(NodeProtoSchema, { opType, input: [input], output: [output] }),
  );
  const input = [create(ValueInfoProtoSchema, { name: 'x' })];
  return create(ModelProtoSchema, { graph: create(GraphProtoSchema, { node, input }) });
}

it.each([
  ['of an input', [['Identity', 'x', 'x']]],
  [
    'of itself',
    [
      ['Relu', 'x', 'y'],
      ['Identity', 'y', 'y'],
    ],
  ],
] as const)('refuses a value that is made again %s', (_, nodes) => {
  expect(() => new GraphView(modelOf(nodes))).toThrow(/MODEL_INVALID: a value is made twice/);
});

it('walks through chains of any length', () => {
  const length = 50_000;
  const chain = Array.from({ length }, (_, i) => [
    'Identity',
    i === 0 ? 'x' : `v${i}`,
    `v${i + 1}`,
  ]);
  const view = new GraphView(modelOf(chain as unknown as Parameters<typeof modelOf>[0]));
  expect(view.constant(`v${length}`)).toBeNull();
  expect(view.elementType(`v${length}`)).toBeNull();
});

it.each(['constructor', 'toString', '__proto__'])('knows no operator %s', (opType) => {
  const node = create(NodeProtoSchema, { opType, input: ['x'], output: ['y'] });
  const known = { vector: () => null, dims: () => null };
  expect(staticVector(node, known)).toBeNull();
  expect(dimsOfResults(node, known)).toEqual([null]);
  expect(new GraphView(modelOf([[opType, 'x', 'y']])).elementType('y')).toBeNull();
});
