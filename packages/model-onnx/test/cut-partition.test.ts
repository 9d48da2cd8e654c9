import { expect, it } from 'vitest';
import { GraphView, inputsOf } from '../src/attention/graph-view.js';
import { type Partition, partition } from '../src/cut/partition.js';
import { writeSegment } from '../src/cut/segment-model.js';
import { isTokenWise } from '../src/cut/token-wise.js';
import { openTiny, sitesOf } from './support/cut-and-whole.js';
import { GraphWriter } from './support/graph-writer.js';
import { type AttentionForm, type TinyDecoder, tinyDecoder } from './support/tiny-decoders.js';
import { decomposed } from './support/tiny-decomposed.js';
import { groupQuery } from './support/tiny-group-query.js';

function cutOf(decoder: TinyDecoder): { readonly view: GraphView; readonly cut: Partition } {
  const view = new GraphView(decoder.model);
  return { view, cut: partition(view, sitesOf(decoder), 'logits') };
}

/** Weights that every segment reads. */
function weightsOf(decoder: TinyDecoder): string[][] {
  const { view, cut } = cutOf(decoder);
  const isWeight = (name: string) => (view.initializer(name)?.rawData.length ?? 0) >= 1024;
  return cut.segments.map(({ nodes }) => [...new Set(nodes.flatMap(inputsOf))].filter(isWeight));
}

const bytesOf = ({ model }: TinyDecoder) =>
  (model.graph?.initializer ?? []).filter((tensor) => tensor.rawData.length >= 1024);

it('has every weight in the one segment that uses it', () => {
  const decoder = tinyDecoder(groupQuery());
  const segments = weightsOf(decoder);
  expect(segments).toHaveLength(3);
  expect(segments[0]).toContain('query_0_weight');
  expect(segments[1]).toEqual(expect.arrayContaining(['output_0_weight', 'query_1_weight']));
  expect(segments[2]).toContain('head');
  const all = segments.flat();
  expect(new Set(all).size).toBe(all.length);
  // Tables of an embedding that is cut out are in none.
  const tables = ['cos_cache', 'sin_cache'];
  const others = bytesOf(decoder).map(({ name }) => name);
  expect([...all, ...tables].sort()).toEqual(others.sort());
});

it('carries what is made of lengths and positions on, rather than making it again', () => {
  const decoder = tinyDecoder(decomposed({ heads: 'rotary' }));
  const segments = weightsOf(decoder);
  expect(segments.map((names) => names.includes('cos_cache'))).toEqual([true, false, false]);
  const [first, second, last] = cutOf(decoder).cut.segments;
  expect(first?.carriedOut).toEqual(expect.arrayContaining([...(second?.carriedIn ?? [])]));
  expect(second?.carriedIn.length).toBeGreaterThan(1);
  expect(last?.graphInputs).toEqual([]);
});

it('has a weight in two segments when both use it', () => {
  const shared: AttentionForm = (context) => {
    const { graph, hidden, sizes } = context;
    const weight = graph.once('shared', () =>
      graph.weights('shared', [sizes.hidden, sizes.hidden], 0.1),
    );
    return groupQuery()({ ...context, hidden: graph.node('MatMul', [hidden, weight]) });
  };
  const segments = weightsOf(tinyDecoder(shared));
  expect(segments.map((names) => names.includes('shared'))).toEqual([true, true, false]);
});

it('leaves weights outside of the protobuf message, without copying them', () => {
  const decoder = tinyDecoder(groupQuery());
  const { view, cut } = cutOf(decoder);
  const [plan] = cut.segments;
  const { bytes, external } = writeSegment(decoder.model, view, {
    nodes: plan?.nodes ?? [],
    initializers: [],
    graphInputs: plan?.graphInputs ?? [],
    edgeInputs: [],
    outputs: ['query_0_out'],
  });
  expect(bytes.length).toBeLessThan(3000);
  expect(external).toHaveLength(4);
  const held = new Set<Uint8Array | undefined>(
    decoder.model.graph?.initializer.map((tensor) => tensor.rawData),
  );
  expect(external.every(({ data }) => held.has(data))).toBe(true);
});

it('refuses states that are no past of attention', async () => {
  const recurrent: AttentionForm = (context) => {
    const { graph, hidden, sizes, layer } = context;
    const state = graph.input(`past_state.${layer}`, ['batch', 1, 1, sizes.hidden]);
    const flat = graph.node('Reshape', [state, graph.ints(0, 1, -1)]);
    return groupQuery()({ ...context, hidden: graph.node('Add', [hidden, flat]) });
  };
  await expect(openTiny(tinyDecoder(recurrent))).rejects.toThrow(
    /MODEL_UNSUPPORTED.*depends on what the past holds.*--attention past-injection/,
  );
});

it('refuses logits that do not come after the last attention', async () => {
  const unused: AttentionForm = (context) => {
    const attended = groupQuery()(context);
    return context.layer === 0 ? attended : context.hidden;
  };
  await expect(openTiny(tinyDecoder(unused))).rejects.toThrow(
    /MODEL_UNSUPPORTED.*logits do not come after the attention of the last layer/,
  );
});

it('refuses inputs that are not known when it is opened', async () => {
  const pictures: AttentionForm = (context) => {
    const { graph, hidden, sizes } = context;
    const pixels = graph.input('pixel_values', ['batch', 1, sizes.hidden]);
    return groupQuery()({ ...context, hidden: graph.node('Add', [hidden, pixels]) });
  };
  await expect(openTiny(tinyDecoder(pictures))).rejects.toThrow(/MODEL_UNSUPPORTED.*pixel_values/);
});

it('refuses a node that reads what attention gives back as past', async () => {
  const reading: AttentionForm = (context) => {
    const attended = groupQuery()(context);
    const { graph, layer } = context;
    const most = graph.node('ReduceMax', [`present.${layer}.key`], { attributes: { keepdims: 0 } });
    return graph.node('Add', [attended, most]);
  };
  await expect(openTiny(tinyDecoder(reading))).rejects.toThrow(
    /GroupQueryAttention: other nodes read what it gives back/,
  );
});

it('tells nodes that work on every token by itself from those that mix tokens', () => {
  const mixes = (add: (graph: GraphWriter, x: string) => string): boolean => {
    const graph = new GraphWriter({ elementType: 'float32', opset: 18, seed: 1 });
    add(graph, graph.input('x', ['batch', 'tokens', 8]));
    const model = graph.model();
    return !isTokenWise(new GraphView(model), model.graph?.node ?? []);
  };
  const weight = (graph: GraphWriter) => graph.weights('weight', [8, 8], 1);
  expect(
    mixes((graph, x) => {
      const product = graph.node('MatMul', [x, graph.node('Transpose', [weight(graph)])]);
      const gated = graph.node('Mul', [product, graph.node('Sigmoid', [product])]);
      const mean = graph.node('ReduceMean', [gated, graph.ints(-1)]);
      const normed = graph.node('LayerNormalization', [graph.node('Sub', [gated, mean])]);
      const shape = graph.node('Concat', [graph.node('Shape', [x]), graph.ints(1)], {
        attributes: { axis: 0 },
      });
      return graph.node('Reshape', [normed, shape]);
    }),
  ).toBe(false);
  expect(mixes((graph, x) => graph.node('CumSum', [x, graph.int(1)]))).toBe(true);
  expect(mixes((graph, x) => graph.node('MatMul', [x, graph.node('Transpose', [x])]))).toBe(true);
  expect(mixes((graph, x) => graph.node('ReduceMean', [x, graph.ints(1)]))).toBe(true);
  expect(mixes((graph, x) => graph.node('Softmax', [x], { attributes: { axis: 1 } }))).toBe(true);
  expect(mixes((graph, x) => graph.node('DynamicQuantizeLinear', [x]))).toBe(true);
  expect(mixes((graph, x) => graph.node('Conv', [x, weight(graph)]))).toBe(true);
});
