/**
 * One loaded graph: typed feeds in, typed arrays out, faults as BACKEND_FAILED.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { messageOf, type OnnxRuntime, type OnnxSession, type OnnxTensor } from './runtime.js';

/** Data by element type; f16 data are bit patterns. */
export type Feed = { readonly dims: readonly number[] } & (
  | { readonly type: 'uint8'; readonly data: Uint8Array }
  | { readonly type: 'float16'; readonly data: Uint16Array }
  | { readonly type: 'int32'; readonly data: Int32Array }
  | { readonly type: 'int64'; readonly data: BigInt64Array }
  | { readonly type: 'float32'; readonly data: Float32Array }
);

export interface SessionOptions {
  /** Threads of one operator; ONNX Runtime takes all cores when it is left out. */
  readonly intraOpNumThreads?: number;
}

export class GraphSession {
  readonly #runtime: OnnxRuntime;
  readonly #session: OnnxSession;
  readonly #name: string;

  private constructor(runtime: OnnxRuntime, session: OnnxSession, name: string) {
    this.#runtime = runtime;
    this.#session = session;
    this.#name = name;
  }

  /** Loads a model. Throws BACKEND_FAILED. */
  static async load(
    runtime: OnnxRuntime,
    name: string,
    model: Uint8Array,
    options: SessionOptions,
  ): Promise<GraphSession> {
    try {
      const session = await runtime.InferenceSession.create(model, {
        executionProviders: ['cpu'],
        // Fusions beyond constant folding save nothing in float64 and double the time to load.
        graphOptimizationLevel: 'basic',
        // Warnings about constant folding would go to stderr.
        logSeverityLevel: 3,
        ...options,
      });
      return new GraphSession(runtime, session, name);
    } catch (cause) {
      throw failed(`ONNX Runtime refused the ${name} graph`, cause);
    }
  }

  /** Runs the graph. Throws BACKEND_FAILED. */
  async run(feeds: Readonly<Record<string, Feed>>): Promise<GraphResult> {
    try {
      const tensors = Object.entries(feeds).map(([name, { type, data, dims }]) => {
        return [name, new this.#runtime.Tensor(type, data, dims)] as const;
      });
      return new GraphResult(await this.#session.run(Object.fromEntries(tensors)));
    } catch (cause) {
      throw failed(`ONNX Runtime failed in the ${this.#name} graph`, cause);
    }
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** Outputs by name. */
export class GraphResult {
  readonly #tensors: Readonly<Record<string, OnnxTensor>>;

  constructor(tensors: Readonly<Record<string, OnnxTensor>>) {
    this.#tensors = tensors;
  }

  bytes(name: string): Uint8Array {
    return this.#data(name) as Uint8Array;
  }

  /** f16 bit patterns; newer JavaScript engines hand out a Float16Array over the same bytes. */
  f16(name: string): Uint16Array {
    const view = this.#data(name);
    return new Uint16Array(view.buffer, view.byteOffset, view.byteLength / 2);
  }

  /** The bytes of the elements, little endian. */
  raw(name: string): Uint8Array {
    const view = this.#data(name);
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }

  f32(name: string): Float32Array {
    return this.#data(name) as Float32Array;
  }

  int32(name: string): Int32Array {
    return this.#data(name) as Int32Array;
  }

  #data(name: string): ArrayBufferView & { buffer: ArrayBuffer } {
    const tensor = this.#tensors[name];
    if (tensor === undefined) throw new TypeError(`the graph has no output ${name}`);
    return tensor.data as ArrayBufferView & { buffer: ArrayBuffer };
  }
}

function failed(message: string, cause: unknown): LowbitKvError {
  return new LowbitKvError('BACKEND_FAILED', {
    message,
    value: messageOf(cause),
    valid: 'a run without an error',
    next: 'Report the message with the plan; the reference backend runs the same plan meanwhile.',
    cause,
  });
}
