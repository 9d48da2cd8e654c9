/**
 * Sessions of onnxruntime-node over models and parts of them.
 */
import {
  loadRuntime,
  type OnnxRuntime,
  type OnnxSession,
  type OnnxTensor,
} from '@lowbit-kv/backend-onnx/graph';
import { LowbitKvError } from '@lowbit-kv/core';
import type { ModelInput } from './input-contract.js';
import { invalidModel } from './invalid.js';
import type { ModelFiles } from './model-files.js';
import { checkModel } from './read-model.js';

export interface SessionSettings {
  /** Threads of one operator; onnxruntime takes all cores when it is left out. */
  readonly threads?: number;
}

/** Options of onnxruntime for a session over a whole model: its own defaults, as whoever runs the model has them. */
export function wholeOptions({ threads }: SessionSettings): Readonly<Record<string, unknown>> {
  return {
    executionProviders: ['cpu'],
    // Warnings about constant folding would go to stderr.
    logSeverityLevel: 3,
    ...(threads !== undefined && { intraOpNumThreads: threads }),
  };
}

/** Options for one of many sessions that take turns. */
export function partOptions(settings: SessionSettings): Readonly<Record<string, unknown>> {
  return {
    ...wholeOptions(settings),
    // An arena keeps the most that its session ever used, and there are as many as layers: 2.7 GiB where 0.8 do.
    enableCpuMemArena: false,
    // Threads of one session that spin would take the cores of the next.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  };
}

/** Data of a file that the model in memory names. */
export interface ExternalBytes {
  readonly path: string;
  readonly data: Uint8Array;
}

/** What goes in and comes out: a feed, or a tensor of onnxruntime. */
export interface SessionTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

export type SessionTensors = Readonly<Record<string, SessionTensor>>;
type Outputs = Readonly<Record<string, SessionTensor | null>>;

interface Metadata {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

interface FullSession extends OnnxSession {
  run(
    feeds: Readonly<Record<string, OnnxTensor>>,
    outputs?: readonly string[] | Outputs,
    options?: { readonly logSeverityLevel: number },
  ): Promise<Readonly<Record<string, OnnxTensor & SessionTensor>>>;
  readonly inputMetadata: readonly Metadata[];
  readonly outputMetadata: readonly Metadata[];
}

/** Tensors go in as feeds or as results of another session. */
export class ModelSession {
  readonly inputs: readonly ModelInput[];
  readonly outputs: readonly ModelInput[];
  readonly #runtime: OnnxRuntime;
  readonly #session: FullSession;
  readonly #what: string;

  private constructor(runtime: OnnxRuntime, session: FullSession, what: string) {
    this.#runtime = runtime;
    this.#session = session;
    this.#what = what;
    this.inputs = session.inputMetadata;
    this.outputs = session.outputMetadata;
  }

  /** `what` names the model in messages; `options` are those of onnxruntime. Throws MODEL_INVALID, PEER_MISSING, BACKEND_UNAVAILABLE. */
  static async load(
    what: string,
    model: string | Uint8Array,
    options: Readonly<Record<string, unknown>>,
    externalData: readonly ExternalBytes[] = [],
  ): Promise<ModelSession> {
    const runtime = await loadRuntime();
    const create = runtime.InferenceSession.create as (
      model: string | Uint8Array,
      options: object,
    ) => Promise<FullSession>;
    try {
      const session = await create.call(runtime.InferenceSession, model, {
        ...options,
        ...(externalData.length > 0 && { externalData }),
      });
      return new ModelSession(runtime, session, what);
    } catch (cause) {
      throw invalidModel({
        message: `onnxruntime refused ${what}`,
        value: cause instanceof Error ? cause.message : String(cause),
        valid: 'a model that onnxruntime-node runs on the CPU',
        next: 'Run the model with onnxruntime alone; when that works, this is a fault of lowbit-kv.',
        cause,
      });
    }
  }

  /**
   * Outputs by name, all or those asked for; null gives a new tensor, a result of a run before this one is written again,
   * which its shape must fit. Throws BACKEND_FAILED.
   */
  async run(
    feeds: SessionTensors,
    outputs: readonly string[] | Outputs = this.outputs.map((output) => output.name),
  ): Promise<SessionTensors> {
    const tensors = Object.entries(feeds).map(
      ([name, feed]) => [name, this.#tensor(feed)] as const,
    );
    try {
      // Only what is fatal goes to stderr: errors are thrown.
      return await this.#session.run(Object.fromEntries(tensors), outputs, { logSeverityLevel: 4 });
    } catch (cause) {
      throw new LowbitKvError('BACKEND_FAILED', {
        message: `onnxruntime failed in ${this.#what}`,
        value: cause instanceof Error ? cause.message : String(cause),
        next: 'Check the tokens and the length of the context against config.json.',
        cause,
      });
    }
  }

  release(): Promise<void> {
    return this.#session.release();
  }

  #tensor(tensor: SessionTensor): OnnxTensor {
    if (tensor instanceof this.#runtime.Tensor) return tensor;
    return new this.#runtime.Tensor(tensor.type, tensor.data as Uint8Array, tensor.dims);
  }
}

/** The model as it came, external data checked first. Throws MODEL_INVALID. */
export async function loadWholeModel(
  files: ModelFiles,
  settings: SessionSettings,
): Promise<ModelSession> {
  const locations = await checkModel(files);
  const options = wholeOptions(settings);
  if (typeof files.model === 'string')
    return ModelSession.load(`the model ${files.name}`, files.model, options);
  const external: ExternalBytes[] = [];
  for (const path of locations) {
    external.push({
      path,
      data: await files.external.read(path, 0, await files.external.size(path)),
    });
  }
  return ModelSession.load(`the model ${files.name}`, files.model, options, external);
}
