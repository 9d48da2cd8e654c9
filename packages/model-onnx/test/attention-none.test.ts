import { create } from '@bufbuild/protobuf';
import { AttributeProtoSchema } from 'onnx-buf';
import { describe, expect, it } from 'vitest';
import { refusalOf } from './support/cut-and-whole.js';
import { type AttentionForm, pastOf, tinyDecoder, withNode } from './support/tiny-decoders.js';
import { decomposed } from './support/tiny-decomposed.js';

const layerOf = (opType: string, domain?: 'com.microsoft'): AttentionForm => {
  return ({ graph, hidden, layer }) =>
    graph.node(opType, [hidden], { name: `layer_${layer}`, ...(domain && { domain }) });
};

describe('attention that is not known', () => {
  it('is refused by the name of its operator', () => {
    for (const operator of ['SparseAttention', 'aten_scaled_dot_product_attention'])
      expect(refusalOf(tinyDecoder(layerOf(operator, 'com.microsoft')))).toMatch(
        new RegExp(`${operator}: this operator is not known \\(layer_0 and 1 more\\)`),
      );
  });

  it('names the nodes that read a past, and the fallback', () => {
    const form: AttentionForm = (context) => {
      const { graph, hidden, layer } = context;
      return graph.node('LinearMixer', [hidden, pastOf(context).key], { name: `mixer_${layer}` });
    };
    const refusal = refusalOf(tinyDecoder(form));
    expect(refusal).toMatch(/no attention was found.*LinearMixer mixer_0 and 1 more/);
    expect(refusal).toContain('--attention past-injection');
  });

  it('is refused inside of a subgraph, as merged decoders have it', () => {
    const merged = withNode(tinyDecoder(layerOf('Relu')), 'layer_0', (node) => {
      const { graph } = tinyDecoder(decomposed()).model;
      node.attribute.push(
        create(AttributeProtoSchema, { name: 'then_branch', ...(graph && { g: graph }) }),
      );
    });
    expect(refusalOf(merged)).toMatch(/Relu: attention lies inside its subgraph.*\(layer_0\)/);
  });

  it('names its operators where nothing is near', () => {
    expect(refusalOf(tinyDecoder(layerOf('Relu')))).toMatch(
      /no attention was found in the graph\b.*LayerNormalization/,
    );
  });
});
