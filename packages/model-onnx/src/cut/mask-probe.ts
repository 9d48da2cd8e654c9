/**
 * Runs the masks of a graph alone, to learn what its layers see. Attention is ours afterwards: what a mask does beyond a
 * window would be lost.
 */
import type { ModelProto } from 'onnx-buf';
import type { GraphView } from '../attention/graph-view.js';
import { refusedSite, unsupportedSites } from '../attention/refusal.js';
import type { AttentionSite } from '../attention/site.js';
import { dependsOnTokens } from '../attention/sources.js';
import type { ModelConfig } from '../model/config.js';
import { type Feed, feedOf, isPast } from '../model/input-contract.js';
import { PastZeros } from '../model/past-zeros.js';
import { ModelSession, partOptions, type SessionSettings } from '../model/session.js';
import { Adapters } from './adapters.js';
import { type MaskGraph, maskGraph, type StandIn } from './mask-graph.js';
import { type ProbeStep, type Sight, sightOf } from './mask-sight.js';
import { writeSegment } from './segment-model.js';

/** Queries of a probe. */
const PROBE_TOKENS = 16;
/** Longest context of a probe: a past of zeros, or without a past a mask of as many rows as columns. */
const LONGEST_PAST = 4104;
const LONGEST_SQUARE = 1032;
const BEYOND_WINDOW = 8;
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
  refuse(sites, (site) => {
    const odd = site.masks.some((mask) => dependsOnTokens(view, mask.name));
    return odd ? 'its mask changes with the tokens' : null;
  });
  const names = [...new Set(sites.flatMap((site) => site.masks.map((mask) => mask.name)))];
  if (names.length === 0) return { sites, contextLimit: null };
  const graph = maskGraph(view, sites, names);
  const hasPast = sites.some(({ past }) => past.inputs.length > 0);
  const { length, contextLimit } = lengthOf(graph, config, hasPast ? LONGEST_PAST : LONGEST_SQUARE);
  const first = Math.min(PROBE_TOKENS, length);
  const session = await openMasks(model, view, graph, names, settings);
  const windowsOf = (step: ProbeStep) => windowsAt(session, graph, names, sites, step, config);
  try {
    // An empty past first; then the context in which every window shows.
    const windows = await windowsOf({ past: 0, tokens: first });
    const past = hasPast ? length - first : 0;
    const all = length > first ? await windowsOf({ past, tokens: length - past }) : windows;
    return { sites: sites.map((site) => withWindow(site, all.get(site) ?? null)), contextLimit };
  } finally {
    await session.release();
  }
}

function refuse(
  sites: readonly AttentionSite[],
  reasonOf: (site: AttentionSite) => string | null,
): void {
  const refused = sites.flatMap((site) => {
    const reason = reasonOf(site);
    return reason === null ? [] : [refusedSite(site, reason)];
  });
  if (refused.length > 0) throw unsupportedSites(refused);
}

/** A window that the probe does not reach is one that no context may reach. */
function lengthOf(
  { integers }: MaskGraph,
  config: ModelConfig,
  limit: number,
): { readonly length: number; readonly contextLimit: number | null } {
  const longest = Math.min(limit, config.max_position_embeddings ?? limit);
  const windows = [...integers, config.sliding_window ?? 0];
  const reached = windows.filter((window) => window + BEYOND_WINDOW <= longest);
  const beyond = windows.filter((window) => window + BEYOND_WINDOW > longest);
  return {
    length: Math.min(longest, Math.max(PROBE_TOKENS, ...reached.map((w) => w + BEYOND_WINDOW))),
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

const numbersName = (mask: number) => `lowbit_kv.mask_numbers.${mask}`;

function openMasks(
  model: ModelProto,
  view: GraphView,
  { nodes, graphInputs, standIns }: MaskGraph,
  names: readonly string[],
  settings: SessionSettings,
): Promise<ModelSession> {
  const adapters = new Adapters('lowbit_kv.mask');
  for (const [i, name] of names.entries()) adapters.castOut(name, numbersName(i));
  const { bytes, external } = writeSegment(model, view, {
    nodes: [...nodes, ...adapters.nodes],
    initializers: adapters.initializers,
    graphInputs,
    edgeInputs: standIns.map(({ dims, ...value }) => ({ ...value, shape: dims })),
    outputs: names.map((_, i) => numbersName(i)),
  });
  return ModelSession.load('the masks of the model', bytes, partOptions(settings), external);
}

/** Windows of the sites; null where there is none. A site at a time: masks may be large. */
async function windowsAt(
  session: ModelSession,
  { standIns }: MaskGraph,
  names: readonly string[],
  sites: readonly AttentionSite[],
  step: ProbeStep,
  config: ModelConfig,
): Promise<ReadonlyMap<AttentionSite, number | null>> {
  const zeros = new PastZeros(config);
  const tokens = Array<number>(step.tokens).fill(PROBE_TOKEN);
  const feeds = Object.fromEntries(
    session.inputs.map((input): readonly [string, Feed] => {
      const standIn = standIns.find(({ name }) => name === input.name);
      if (standIn !== undefined) return [input.name, zerosFor(standIn, step.tokens)];
      if (isPast(input)) return [input.name, zeros.feed(input, step.past)];
      return [input.name, feedOf(input, { tokens, position: step.past })];
    }),
  );
  const known = new Map<string, Sight>();
  const sights = new Map<AttentionSite, Sight>();
  for (const site of sites) {
    const key = JSON.stringify([site.masks, site.causal]);
    const sight = known.get(key) ?? (await seenBy(site));
    known.set(key, sight);
    sights.set(site, sight);
  }
  refuse(sites, (site) => {
    const sight = sights.get(site);
    return sight !== undefined && 'reason' in sight ? sight.reason : null;
  });
  return new Map(
    [...sights].map(([site, sight]) => [site, 'window' in sight ? sight.window : null]),
  );

  async function seenBy({ masks, causal }: AttentionSite): Promise<Sight> {
    if (masks.length === 0) return { window: null };
    const outputs = masks.map(({ name }) => numbersName(names.indexOf(name)));
    const results = await session.run(feeds, outputs);
    const numbers = masks.map(({ kind }, i) => {
      const result = results[outputs[i] ?? ''];
      if (result === undefined) throw new TypeError('onnxruntime gives what it is asked for');
      return { kind, data: result.data as Float32Array, dims: result.dims };
    });
    return sightOf(numbers, step, causal);
  }
}

function zerosFor({ type, dims }: StandIn, tokens: number): Feed {
  const known = dims.map((dim) => dim ?? tokens);
  const count = known.reduce((product, dim) => product * dim, 1);
  const data = type === 'float16' ? new Uint16Array(count) : new Float32Array(count);
  return { type, data, dims: known };
}
