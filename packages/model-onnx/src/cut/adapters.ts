/**
 * Nodes at the edges of a segment: heads leave it as f32 rows, whatever form the graph has them in, and attention comes back
 * as f32 rows.
 */
import { create } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  TensorProto_DataType as DataType,
  type NodeProto,
  NodeProtoSchema,
  type TensorProto,
  TensorProtoSchema,
} from 'onnx-buf';
import type { AttentionSite, HeadsValue } from '../attention/site.js';

/** Names of values that are not the graph's own. */
export const edgeName = (kind: 'query' | 'key' | 'value' | 'attention' | 'logits', layer: number) =>
  `lowbit_kv.${kind}.${layer}`;

export class Adapters {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #prefix: string;

  /** `prefix` makes names of values unique in the graph. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** `output` becomes f32 `[1, tokens, channels]`. */
  headsOut(heads: HeadsValue, channels: number, output: string): void {
    let at = heads.name;
    if (heads.layout === 'parts') at = this.#gather(at, 3, heads.part ?? 0);
    if (heads.layout === 'headsFirst') at = this.#transpose(at);
    if (heads.channels !== undefined) at = this.#slice(at, 2, heads.channels);
    if (heads.layout !== 'rows') at = this.#reshape(at, [1, -1, channels]);
    if (heads.bias !== undefined)
      at = this.#node('Add', [at, this.#slice(heads.bias.name, 0, heads.bias)]);
    this.castOut(at, output);
  }

  castOut(value: string, output: string): void {
    this.#node('Cast', [value], [int('to', DataType.FLOAT)], output);
  }

  /** f32 `[1, tokens, queryHeads * valueHeadDim]` becomes what the site gave. */
  attentionIn(input: string, { output, elementType, geometry }: AttentionSite): void {
    const to = elementType === 'float16' ? DataType.FLOAT16 : DataType.FLOAT;
    if (output.layout === 'rows') {
      this.#node('Cast', [input], [int('to', to)], output.name);
      return;
    }
    const heads = this.#reshape(input, [1, -1, geometry.queryHeads, geometry.valueHeadDim]);
    const cast = this.#node('Cast', [heads], [int('to', to)]);
    this.#transpose(cast, output.name);
  }

  #slice(value: string, axis: number, range: { readonly first: number; readonly count: number }) {
    const { first, count } = range;
    return this.#node('Slice', [
      value,
      this.#ints([first]),
      this.#ints([first + count]),
      this.#ints([axis]),
    ]);
  }

  #gather(value: string, axis: number, index: number): string {
    const scalar = this.#ints([index], []);
    return this.#node('Gather', [value, scalar], [int('axis', axis)]);
  }

  #reshape(value: string, dims: readonly number[]): string {
    return this.#node('Reshape', [value, this.#ints(dims)]);
  }

  /** Heads and tokens change places. */
  #transpose(value: string, output?: string): string {
    const perm = create(AttributeProtoSchema, {
      name: 'perm',
      type: AttributeType.INTS,
      ints: [0n, 2n, 1n, 3n],
    });
    return this.#node('Transpose', [value], [perm], output);
  }

  #node(
    opType: string,
    input: string[],
    attribute: AttributeProto[] = [],
    output = `${this.#prefix}.${this.nodes.length}`,
  ): string {
    const name = `${this.#prefix}.${opType}.${this.nodes.length}`;
    this.nodes.push(create(NodeProtoSchema, { opType, name, input, attribute, output: [output] }));
    return output;
  }

  #ints(values: readonly number[], dims: readonly number[] = [values.length]): string {
    const name = `${this.#prefix}.constant.${this.initializers.length}`;
    this.initializers.push(
      create(TensorProtoSchema, {
        name,
        dataType: DataType.INT64,
        dims: dims.map(BigInt),
        int64Data: values.map(BigInt),
      }),
    );
    return name;
  }
}

function int(name: string, value: number): AttributeProto {
  return create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) });
}
