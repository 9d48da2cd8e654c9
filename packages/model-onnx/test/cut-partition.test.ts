import { TensorProto_DataType } from 'onnx-buf';
import { describe, expect, it } from 'vitest';
import { GraphView, inputsOf } from '../src/attention/graph-view.js';
import { type Partition, partition } from '../src/cut/partition.js';
import { writeSegment } from '../src/cut/segment-model.js';
import { openTiny, sitesOf } from './support/cut-and-whole.js';
import { GraphWriter } from './support/graph-writer.js';
import {
  type AttentionForm,
  TINY_SIZES,
  type TinyDecoder,
  tinyDecoder,
} from './support/tiny-decoders.js';
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
  expect(segments).toHaveLength(4);
  expect(segments[0]).toContain('query_0_weight');
  expect(segments[1]).toEqual(expect.arrayContaining(['output_0_weight', 'query_1_weight']));
  expect(segments[2]).toContain('down_1_weight');
  expect(segments[3]).toEqual(['head']);
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
  expect(segments.map((names) => names.includes('cos_cache'))).toEqual([true, false, false, false]);
  const { segments: plans } = cutOf(decoder).cut;
  const [first, second] = plans;
  expect(first?.carriedOut).toEqual(expect.arrayContaining([...(second?.carriedIn ?? [])]));
  expect(second?.carriedIn.length).toBeGreaterThan(1);
  expect(plans.at(-1)?.graphInputs).toEqual([]);
});

it('has a node that leaves out optional outputs in its own segment alone', () => {
  const form: AttentionForm = (context) => {
    const { graph, hidden, sizes, layer } = context;
    const weight = graph.table(`skip_${layer}_weight`, [sizes.hidden], Array(sizes.hidden).fill(1));
    const states = graph.node('SkipSimplifiedLayerNormalization', [hidden, hidden, weight], {
      domain: 'com.microsoft',
      attributes: { epsilon: { float: 1e-5 } },
      outputs: [`skip_${layer}_out`, '', '', `skip_${layer}_sum`],
    });
    return groupQuery()({ ...context, hidden: states });
  };
  const { segments } = cutOf(tinyDecoder(form)).cut;
  const skips = segments.map(({ nodes }) =>
    nodes.flatMap(({ opType, output }) => (opType.startsWith('Skip') ? output[0] : [])),
  );
  expect(skips).toEqual([['skip_0_out'], ['skip_1_out'], [], []]);
  const carried = ({ carriedIn }: (typeof segments)[number]) => carriedIn.length;
  expect(segments.map(carried)).toEqual(cutOf(tinyDecoder(groupQuery())).cut.segments.map(carried));
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
  expect(segments.map((names) => names.includes('shared'))).toEqual([true, true, false, false]);
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

describe('the segment of the logits', () => {
  /** Operators of the last segment, of a decoder whose logits are made by `head` of its last states. */
  const headOf = (head: (graph: GraphWriter, product: string, states: string) => string) => {
    const graph = new GraphWriter({ elementType: 'float32', opset: 18, seed: 1 });
    const tokens = graph.input('input_ids', ['batch', 'tokens'], TensorProto_DataType.INT64);
    const hidden = graph.node('Gather', [graph.weights('embedding', [50, 64], 1), tokens]);
    const states = groupQuery()({ graph, sizes: TINY_SIZES, layer: 0, hidden });
    const weight = graph.node('Transpose', [graph.weights('head', [50, 64], 0.1)]);
    const product = graph.node('MatMul', [graph.node('Tanh', [states]), weight]);
    graph.node('Identity', [head(graph, product, states)], { outputs: ['logits'] });
    graph.output('logits', ['batch', 'tokens', 50]);
    const { cut } = cutOf({ model: graph.model(), sizes: TINY_SIZES, elementType: 'float32' });
    const last = cut.segments.at(-1);
    return { operators: last?.nodes.map((node) => node.opType), tokenWise: last?.tokenWise };
  };

  it('is the product with the vocabulary, and what follows it', () => {
    const head = headOf((graph, product) => {
      const capped = graph.node('Tanh', [graph.node('Div', [product, graph.number(30)])]);
      return graph.node('Mul', [capped, graph.number(30)]);
    });
    expect(head).toEqual({
      operators: ['Transpose', 'MatMul', 'Div', 'Tanh', 'Mul', 'Identity'],
      tokenWise: true,
    });
  });

  it('is none of its own where more goes into logits or tokens are mixed', () => {
    const odd: readonly Parameters<typeof headOf>[0][] = [
      (graph, product) => graph.node('CumSum', [product, graph.int(1)]),
      (graph, product, states) =>
        graph.node('Add', [product, graph.node('ReduceMean', [states, graph.ints(-1)])]),
      (graph, product) => graph.node('MatMul', [graph.node('Transpose', [product]), product]),
    ];
    for (const head of odd) {
      const { operators, tokenWise } = headOf(head);
      expect(tokenWise).toBe(false);
      expect(operators).toContain('Tanh');
    }
  });
});
