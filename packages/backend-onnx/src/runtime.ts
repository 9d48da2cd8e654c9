/**
 * The part of ONNX Runtime this package uses, and how it is found. onnxruntime-node is an optional peer, imported only when
 * a backend starts.
 */
import { LowbitKvError } from '@lowbit-kv/core';

export interface OnnxTensor {
  readonly data: unknown;
  readonly dims: readonly number[];
}

export interface OnnxSession {
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
  release(): Promise<void>;
}

/** The default export shape of onnxruntime-node, onnxruntime-web and onnxruntime-common. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, unknown>>): Promise<OnnxSession>;
  };
  readonly Tensor: new (
    type: string,
    data: Uint8Array | Uint16Array | Int32Array | BigInt64Array | Float32Array,
    dims: readonly number[],
  ) => OnnxTensor;
  readonly env?: { readonly versions?: { readonly node?: string; readonly common?: string } };
}

export const INSTALL_STEP =
  'Run `npm install --ignore-scripts onnxruntime-node`: its install script only downloads GPU libraries (pnpm: ' +
  '`pnpm add onnxruntime-node`, and in pnpm-workspace.yaml `onnxruntime-node: false` under `allowBuilds`).';

/** Imports onnxruntime-node, or calls `load` instead. Throws PEER_MISSING or BACKEND_UNAVAILABLE. */
export async function loadRuntime(
  load: () => Promise<OnnxRuntime> = importPeer,
): Promise<OnnxRuntime> {
  try {
    return await load();
  } catch (cause) {
    if (isModuleMissing(cause)) {
      throw new LowbitKvError('PEER_MISSING', {
        message: 'onnxruntime-node is not installed',
        value: messageOf(cause),
        valid: 'onnxruntime-node 1.20 or newer',
        next: INSTALL_STEP,
        cause,
      });
    }
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: 'onnxruntime-node is installed but does not load',
      value: messageOf(cause),
      valid: 'an onnxruntime-node with a library for this platform',
      next: `Check that ${process.platform}-${process.arch} is supported, then install it again.`,
      cause,
    });
  }
}

async function importPeer(): Promise<OnnxRuntime> {
  const module = (await import('onnxruntime-node')) as unknown as OnnxRuntime;
  return module;
}

function isModuleMissing(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
