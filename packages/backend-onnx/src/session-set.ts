/**
 * The sessions of one plan: layers whose graphs are equal share them.
 */
import { canonicalJson, type LayerPlan, type Plan, type TensorPlan } from '@lowbit-kv/core';
import { buildAttentionGraph } from './graph/attention.js';
import { buildEncodeGraph } from './graph/encode.js';
import { buildStatisticsGraph } from './graph/statistics.js';
import { GraphSession, type SessionOptions } from './graph-session.js';
import {
  calibratedTransformValues,
  isPacked,
  measuredTransforms,
  statisticsTokens,
} from './packed-plan.js';
import type { OnnxRuntime } from './runtime.js';

export interface LayerSessions {
  readonly attention: GraphSession;
  /** Null when nothing is packed, or a codec does it. */
  readonly encode: { readonly key: GraphSession | null; readonly value: GraphSession | null };
  readonly statistics: { readonly key: GraphSession | null; readonly value: GraphSession | null };
}

export class SessionSet {
  readonly #layers: readonly LayerSessions[];
  readonly #sessions: readonly GraphSession[];

  private constructor(layers: readonly LayerSessions[], sessions: readonly GraphSession[]) {
    this.#layers = layers;
    this.#sessions = sessions;
  }

  /** Builds and loads every graph the plan needs. Throws BACKEND_FAILED. */
  static async create(
    runtime: OnnxRuntime,
    plan: Plan,
    options: SessionOptions,
  ): Promise<SessionSet> {
    const loaded = new Map<string, GraphSession>();
    const load = async (name: string, identity: unknown, build: () => Uint8Array) => {
      const key = canonicalJson([name, identity]);
      const known = loaded.get(key);
      if (known !== undefined) return known;
      const session = await GraphSession.load(runtime, name, build(), options);
      loaded.set(key, session);
      return session;
    };
    const layers: LayerSessions[] = [];
    try {
      for (const layer of plan.layers) {
        const encode = async (tensor: TensorPlan) =>
          isPacked(tensor) && tensor.codec === undefined
            ? load('encode', shapeOf(tensor), () => buildEncodeGraph(tensor, {}))
            : null;
        const statistics = async (tensor: TensorPlan) => {
          if (measuredTransforms(tensor).length === 0) return null;
          const tokens = statisticsTokens(plan, tensor);
          return load('statistics', [tokens, shapeOf(tensor)], () =>
            buildStatisticsGraph(tensor, tokens, {}),
          );
        };
        layers.push({
          attention: await load('attention', attentionShape(layer), () =>
            buildAttentionGraph(layer, {}),
          ),
          encode: { key: await encode(layer.key), value: await encode(layer.value) },
          statistics: { key: await statistics(layer.key), value: await statistics(layer.value) },
        });
      }
    } catch (error) {
      await Promise.all([...loaded.values()].map((session) => session.release()));
      throw error;
    }
    return new SessionSet(layers, [...loaded.values()]);
  }

  /** By index in `Plan.layers`. */
  layer(layer: number): LayerSessions {
    const found = this.#layers[layer];
    if (found === undefined) throw new RangeError(`no layer ${layer}`);
    return found;
  }

  async release(): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.release()));
  }
}

/** What an encode graph depends on; thresholds are inputs. */
function shapeOf(plan: TensorPlan): unknown {
  const { tensor, heads, headDim, scheme, layout } = plan;
  const calibrated = calibratedTransformValues(plan);
  return { tensor, heads, headDim, scheme, layout, calibrated };
}

function attentionShape({ geometry, key, value }: LayerPlan): unknown {
  return { geometry, key: shapeOf(key), value: shapeOf(value) };
}
