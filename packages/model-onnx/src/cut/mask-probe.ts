/**
 * Runs the masks of a graph alone, to learn what its layers see. Attention is ours afterwards: what a mask does beyond a
 * window would be lost.
 */
import type { ModelProto } from 'onnx-buf';
import type { GraphView } from '../attention/graph-view.js';
import { refusedSite, unsupportedSites } from '../attention/refusal.js';
import type { AttentionSite, UnsupportedSite } from '../attention/site.js';
import { dependsOnTokens } from '../attention/sources.js';
import type { ModelConfig } from '../model/config.js';
import { type Feed, feedOf, isPast } from '../model/input-contract.js';
import { PastZeros } from '../model/past-zeros.js';
import { ModelSession, type SessionSettings } from '../model/session.js';
import { Adapters } from './adapters.js';
import { type MaskGraph, maskGraph, type StandIn } from './mask-graph.js';
import { type MaskNumbers, type Sight, sightOf } from './mask-sight.js';
import { writeSegment } from './segment-model.js';

/** Tokens of a probe: beyond every window that the graph or the configuration names, within what a mask of f32 may take. */
const PROBE_TOKENS = 16;
const BEYOND_WINDOW = 8;
const LONGEST_PROBE = 4104;
/** Any token will do: masks that depend on tokens are refused. */
const PROBE_TOKEN = 1;

export interface ProbedSites {
  /** With the windows of their masks. */
  readonly sites: readonly AttentionSite[];
  /** Longest context for which the probe speaks; null: any. */
  readonly contextLimit: number | null;
}

/** Throws MODEL_UNSUPPORTED for masks that are neither causal nor a causal window, whatever the tokens are. */
export async function probeMasks(
  model: ModelProto,
  view: GraphView,
  sites: readonly AttentionSite[],
  config: ModelConfig,
  settings: SessionSettings,
): Promise<ProbedSites> {
  const refused: UnsupportedSite[] = [];
  for (const site of sites) {
    const odd = site.masks.find((mask) => dependsOnTokens(view, mask.name));
    if (odd !== undefined) refused.push(refusedSite(site, 'its mask changes with the tokens'));
  }
  if (refused.length > 0) throw unsupportedSites(refused);
  const names = [...new Set(sites.flatMap((site) => site.masks.map((mask) => mask.name)))];
  if (names.length === 0) return { sites, contextLimit: null };

  const graph = maskGraph(view, sites, names);
  const probe = lengthOf(graph, config);
  const numbers = await runMasks(model, view, graph, names, probe.tokens, config, settings);
  const known = new Map<string, Sight>();
  const probed = sites.map((site) => {
    if (site.masks.length === 0) return site;
    const key = JSON.stringify([site.masks, site.causal]);
    const sight = known.get(key) ?? sightOf(masksOf(site, numbers), probe.tokens, site.causal);
    known.set(key, sight);
    if ('window' in sight) return withWindow(site, sight.window);
    refused.push(refusedSite(site, sight.reason));
    return site;
  });
  if (refused.length > 0) throw unsupportedSites(refused);
  return { sites: probed, contextLimit: probe.contextLimit };
}

/** A window that the probe does not reach is one that no context may reach. */
function lengthOf(
  { integers }: MaskGraph,
  config: ModelConfig,
): { readonly tokens: number; readonly contextLimit: number | null } {
  const longest = Math.min(LONGEST_PROBE, config.max_position_embeddings ?? LONGEST_PROBE);
  const windows = [...integers, config.sliding_window ?? 0];
  const reached = windows.filter((window) => window + BEYOND_WINDOW <= longest);
  const beyond = windows.filter((window) => window + BEYOND_WINDOW > longest);
  return {
    tokens: Math.min(longest, Math.max(PROBE_TOKENS, ...reached.map((w) => w + BEYOND_WINDOW))),
    contextLimit: beyond.length === 0 ? null : Math.min(...beyond),
  };
}

function withWindow(site: AttentionSite, window: number | null): AttentionSite {
  const windows = [site.geometry.window, window].filter((size) => size !== null);
  return {
    ...site,
    geometry: { ...site.geometry, window: windows.length === 0 ? null : Math.min(...windows) },
  };
}

type Numbers = Omit<MaskNumbers, 'kind'>;

function masksOf(site: AttentionSite, numbers: ReadonlyMap<string, Numbers>): MaskNumbers[] {
  return site.masks.map(({ name, kind }) => {
    const found = numbers.get(name);
    if (found === undefined) throw new TypeError(`the probe does not give ${name}`);
    return { kind, ...found };
  });
}

async function runMasks(
  model: ModelProto,
  view: GraphView,
  { nodes, graphInputs, standIns }: MaskGraph,
  names: readonly string[],
  tokens: number,
  config: ModelConfig,
  settings: SessionSettings,
): Promise<ReadonlyMap<string, Numbers>> {
  const adapters = new Adapters('lowbit_kv.mask');
  const outputs = names.map((name, i) => {
    adapters.castOut(name, `lowbit_kv.mask_numbers.${i}`);
    return `lowbit_kv.mask_numbers.${i}`;
  });
  const { bytes, external } = writeSegment(model, view, {
    nodes: [...nodes, ...adapters.nodes],
    initializers: adapters.initializers,
    graphInputs,
    edgeInputs: standIns.map(({ dims, ...value }) => ({ ...value, shape: dims })),
    outputs,
  });
  const session = await ModelSession.load('the masks of the model', bytes, settings, external);
  try {
    const zeros = new PastZeros(config);
    const step = { tokens: Array<number>(tokens).fill(PROBE_TOKEN), position: 0 };
    const feeds = session.inputs.map((input): readonly [string, Feed] => {
      const standIn = standIns.find(({ name }) => name === input.name);
      if (standIn !== undefined) return [input.name, zerosFor(standIn, tokens)];
      return [input.name, isPast(input) ? zeros.feed(input, 0) : feedOf(input, step)];
    });
    const results = await session.run(Object.fromEntries(feeds));
    return new Map(
      names.map((name, i) => {
        const { data, dims } = results[outputs[i] ?? ''] ?? { data: [], dims: [] };
        return [name, { data: data as Float32Array, dims }];
      }),
    );
  } finally {
    await session.release();
  }
}

function zerosFor({ type, dims }: StandIn, tokens: number): Feed {
  const known = dims.map((dim) => dim ?? tokens);
  const count = known.reduce((product, dim) => product * dim, 1);
  const data = type === 'float16' ? new Uint16Array(count) : new Float32Array(count);
  return { type, data, dims: known };
}
