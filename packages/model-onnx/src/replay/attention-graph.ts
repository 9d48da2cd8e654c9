/**
 * Attention of a block of queries over columns of keys and values, each met by some consecutive queries, as an ONNX graph:
 * what replay computes per layer. f32, as the model's own attention.
 */

import {
  GraphBuilder,
  loadRuntime,
  type OnnxRuntime,
  type OnnxSession,
  Operations,
} from '@lowbit-kv/backend-onnx/graph';
import type { LayerGeometry } from '@lowbit-kv/core';
import { partOptions, type SessionSettings } from '../model/session.js';

/** What the graph depends on. */
export type AttentionShape = Pick<
  LayerGeometry,
  'queryHeads' | 'kvHeads' | 'keyHeadDim' | 'valueHeadDim' | 'scale' | 'softCap'
>;

export interface BlockAttention {
  /** `[queries, queryHeads, keyHeadDim]`. */
  readonly query: Float32Array;
  /** Rising. */
  readonly positions: Int32Array;
  /** `[columns, kvHeads, keyHeadDim]`. */
  readonly key: Float32Array;
  /** `[columns, kvHeads, valueHeadDim]`. */
  readonly value: Float32Array;
  /** By column: first and last position of a query that meets it. */
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** Sessions by attention shape, made on first use. */
export class AttentionSessions {
  readonly #runtime: OnnxRuntime;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #sessions = new Map<string, Promise<AttentionSession>>();

  private constructor(runtime: OnnxRuntime, options: Readonly<Record<string, unknown>>) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** Throws PEER_MISSING, BACKEND_UNAVAILABLE. */
  static async open(settings: SessionSettings = {}): Promise<AttentionSessions> {
    // There are few of them, and they run the same shapes again and again.
    const options = { ...partOptions(settings), enableCpuMemArena: true };
    return new AttentionSessions(await loadRuntime(), options);
  }

  of(geometry: AttentionShape): Promise<AttentionSession> {
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap } = geometry;
    const shape = { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap };
    const key = JSON.stringify(shape);
    let session = this.#sessions.get(key);
    if (session === undefined) {
      session = AttentionSession.create(this.#runtime, shape, this.#options);
      this.#sessions.set(key, session);
      // One that failed is nothing to release.
      session.catch(() => this.#sessions.delete(key));
    }
    return session;
  }

  async release(): Promise<void> {
    const sessions = await Promise.all(this.#sessions.values());
    this.#sessions.clear();
    await Promise.all(sessions.map((session) => session.release()));
  }
}

/** Runs the graph of one attention shape. */
export class AttentionSession {
  readonly #runtime: OnnxRuntime;
  readonly #session: OnnxSession;
  readonly #shape: AttentionShape;

  private constructor(runtime: OnnxRuntime, session: OnnxSession, shape: AttentionShape) {
    this.#runtime = runtime;
    this.#session = session;
    this.#shape = shape;
  }

  static async create(
    runtime: OnnxRuntime,
    shape: AttentionShape,
    options: Readonly<Record<string, unknown>>,
  ): Promise<AttentionSession> {
    const session = await runtime.InferenceSession.create(attentionGraph(shape), options);
    return new AttentionSession(runtime, session, shape);
  }

  /** `[queries, queryHeads, valueHeadDim]`. */
  async attend(block: BlockAttention): Promise<Float32Array> {
    const { Tensor } = this.#runtime;
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = this.#shape;
    const queries = block.positions.length;
    const columns = block.from.length;
    const { output } = await this.#session.run({
      query: new Tensor('float32', block.query, [
        queries,
        kvHeads,
        queryHeads / kvHeads,
        keyHeadDim,
      ]),
      key: new Tensor('float32', block.key, [columns, kvHeads, 1, keyHeadDim]),
      value: new Tensor('float32', block.value, [columns, kvHeads, 1, valueHeadDim]),
      bias: new Tensor('float32', biasOf(block), [queries, columns]),
    });
    return output?.data as Float32Array;
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** `[queries, columns]`. Made here: comparing positions in the graph takes half as long again as the whole attention. */
function biasOf({ positions, from, to }: BlockAttention): Float32Array {
  const columns = from.length;
  const [first, last] = [positions[0] as number, positions.at(-1) as number];
  const bias = new Float32Array(positions.length * columns);
  for (let column = 0; column < columns; column++) {
    const [begin, end] = [from[column] as number, to[column] as number];
    // Nearly all of a long context.
    if (begin <= first && last <= end) continue;
    for (let row = 0, at = column; row < positions.length; row++, at += columns) {
      const position = positions[row] as number;
      if (position < begin || position > end) bias[at] = Number.NEGATIVE_INFINITY;
    }
  }
  return bias;
}

function attentionGraph({
  queryHeads,
  kvHeads,
  keyHeadDim,
  valueHeadDim,
  scale,
  softCap,
}: AttentionShape): Uint8Array {
  const graph = new GraphBuilder('replay_attention');
  const on = new Operations(graph);
  const group = queryHeads / kvHeads;
  const query = graph.input(
    'query',
    'float32',
    ['queries', kvHeads, group, keyHeadDim],
    'Rotated queries',
  );
  const key = graph.input('key', 'float32', ['columns', kvHeads, 1, keyHeadDim], 'Rotated keys');
  const value = graph.input('value', 'float32', ['columns', kvHeads, 1, valueHeadDim], 'Values');
  const bias = graph.input(
    'bias',
    'float32',
    ['queries', 'columns'],
    '0 where met, else -Infinity',
  );

  const scaled = on.transpose(on.multiply(query, scale), [1, 2, 0, 3]);
  let logits = on.matrixProduct(scaled, on.transpose(key, [1, 2, 3, 0]));
  if (softCap !== null)
    logits = on.multiply(on.tangentHyperbolic(on.divide(logits, softCap)), softCap);
  const weights = graph.node('Softmax', 'float32', [on.add(logits, bias)], { axis: -1 });
  const sums = on.matrixProduct(weights, on.transpose(value, [1, 2, 0, 3]));
  graph.output(
    'output',
    on.transpose(sums, [2, 0, 1, 3]),
    ['queries', kvHeads, group, valueHeadDim],
    'Attention output',
  );
  return graph.build({ 'lowbit-kv.graph': 'replay-attention' });
}
