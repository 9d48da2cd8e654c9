/**
 * The backend whose mathematics is ONNX graphs. Pages live in host memory in the canonical layout; every value that enters
 * or leaves them is computed by ONNX Runtime, but for groups of a codec: those run on the host, and the plan is emulated.
 */
import { type Backend, type BackendSupport, LowbitKvError, type Plan } from '@lowbit-kv/core';
import type { SessionOptions } from './graph-session.js';
import { OnnxStore } from './onnx-store.js';
import { emulations, refusals } from './refusals.js';
import { loadRuntime, type OnnxRuntime } from './runtime.js';
import { SessionSet } from './session-set.js';

export interface OnnxBackendOptions extends SessionOptions {
  /** Where ONNX Runtime comes from. Default: `import('onnxruntime-node')`. */
  readonly loadRuntime?: () => Promise<OnnxRuntime>;
}

/** Throws OPTION_INVALID. Stores throw PEER_MISSING when onnxruntime-node is not installed. */
export function onnxBackend(options: OnnxBackendOptions = {}): Backend {
  const session = sessionOptions(options);
  return {
    specVersion: 1,
    id: 'onnx',
    async probe() {
      try {
        const { env } = await loadRuntime(options.loadRuntime);
        const version = env?.versions?.node ?? env?.versions?.common ?? 'of unknown version';
        return { ok: true, device: `ONNX Runtime ${version}, CPU, float64 attention` };
      } catch (error) {
        if (!LowbitKvError.is(error)) throw error;
        return { ok: false, reason: error.message, next: error.next };
      }
    },
    supports: supportOf,
    async createStore(plan, storeOptions) {
      const runtime = await loadRuntime(options.loadRuntime);
      const sessions = await SessionSet.create(runtime, plan, session);
      try {
        return new OnnxStore(plan, storeOptions, sessions);
      } catch (error) {
        // The pages may not fit into memory.
        await sessions.release();
        throw error;
      }
    },
  };
}

function supportOf(plan: Plan): BackendSupport {
  const refused = refusals(plan);
  if (refused.length > 0) return { kind: 'refused', reasons: refused };
  const emulated = emulations(plan);
  return emulated.length === 0 ? { kind: 'native' } : { kind: 'emulated', reasons: emulated };
}

function sessionOptions({ intraOpNumThreads }: OnnxBackendOptions): SessionOptions {
  if (intraOpNumThreads === undefined) return {};
  if (!Number.isSafeInteger(intraOpNumThreads) || intraOpNumThreads < 1) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'intraOpNumThreads must be a positive integer',
      value: intraOpNumThreads,
      valid: 'an integer of at least 1',
      next: 'Leave it out for one thread per core.',
    });
  }
  return { intraOpNumThreads };
}
