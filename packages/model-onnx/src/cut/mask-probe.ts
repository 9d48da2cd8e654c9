/**
 * Runs the masks of a graph alone, to learn what its layers see. Attention is ours afterwards: what a mask does beyond a
 * window would be lost.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { ModelProto, NodeProto } from 'onnx-buf';
import { unsupportedSites } from '../attention/find-sites.js';
import { type GraphView, inputsOf } from '../attention/graph-view.js';
import type { AttentionSite, UnsupportedSite } from '../attention/site.js';
import type { ModelConfig } from '../model/config.js';
import { feedOf, isPast } from '../model/input-contract.js';
import { PastZeros } from '../model/past-zeros.js';
import { ModelSession, type SessionSettings, type SessionTensors } from '../model/session.js';
import { Adapters } from './adapters.js';
import { type MaskNumbers, type Sight, sightOf } from './mask-sight.js';
import { writeSegment } from './segment-model.js';

/** Tokens of a probe: beyond a window where the configuration names one, within what a mask of f32 may take. */
const PROBE_TOKENS = 16;
const BEYOND_WINDOW = 8;
const LONGEST_PROBE = 4104;
/** Any token will do, except those that pad. */
const PROBE_TOKEN = 1;

export interface ProbedSites {
  /** With the windows of their masks. */
  readonly sites: readonly AttentionSite[];
  /** Longest context for which the probe speaks; null: any. */
  readonly contextLimit: number | null;
}

/** Throws MODEL_UNSUPPORTED for masks that are neither causal nor a causal window. */
export async function probeMasks(
  model: ModelProto,
  view: GraphView,
  sites: readonly AttentionSite[],
  config: ModelConfig,
  settings: SessionSettings,
): Promise<ProbedSites> {
  const names = [...new Set(sites.flatMap((site) => site.masks.map((mask) => mask.name)))];
  if (names.length === 0) return { sites, contextLimit: null };
  const window = config.sliding_window ?? 0;
  const wanted = window === 0 ? PROBE_TOKENS : Math.max(PROBE_TOKENS, window + BEYOND_WINDOW);
  const tokens = Math.min(wanted, LONGEST_PROBE, config.max_position_embeddings ?? wanted);
  const numbers = await runMasks(model, view, sites, names, tokens, config, settings);
  const refused: UnsupportedSite[] = [];
  const known = new Map<string, Sight>();
  const probed = sites.map((site) => {
    if (site.masks.length === 0) return site;
    const key = JSON.stringify(site.masks);
    const sight = known.get(key) ?? sightOf(masksOf(site, numbers), tokens);
    known.set(key, sight);
    if ('window' in sight) return withWindow(site, sight.window);
    refused.push({ node: site.node, operator: site.form, reason: sight.reason });
    return site;
  });
  if (refused.length > 0) throw unsupportedSites(refused);
  return { sites: probed, contextLimit: tokens < wanted ? window : null };
}

function withWindow(site: AttentionSite, window: number | null): AttentionSite {
  const windows = [site.geometry.window, window].filter((size) => size !== null);
  return {
    ...site,
    geometry: { ...site.geometry, window: windows.length === 0 ? null : Math.min(...windows) },
  };
}

function masksOf(site: AttentionSite, numbers: ReadonlyMap<string, Omit<MaskNumbers, 'kind'>>) {
  return site.masks.map(({ name, kind }) => {
    const { data, dims } = numbers.get(name) ?? { data: new Float32Array(), dims: [0] };
    return { kind, data, dims };
  });
}

async function runMasks(
  model: ModelProto,
  view: GraphView,
  sites: readonly AttentionSite[],
  names: readonly string[],
  tokens: number,
  config: ModelConfig,
  settings: SessionSettings,
): Promise<Map<string, Omit<MaskNumbers, 'kind'>>> {
  const { nodes, graphInputs } = upstream(view, sites, names);
  const adapters = new Adapters('lowbit_kv.mask');
  const outputs = names.map((name, i) => {
    adapters.castOut(name, `lowbit_kv.mask_numbers.${i}`);
    return `lowbit_kv.mask_numbers.${i}`;
  });
  const { bytes, external } = writeSegment(model, view, {
    nodes: [...nodes, ...adapters.nodes],
    initializers: adapters.initializers,
    graphInputs,
    edgeInputs: [],
    outputs,
  });
  const session = await ModelSession.load('the masks of the model', bytes, settings, external);
  try {
    const zeros = new PastZeros(config);
    const step = { tokens: Array<number>(tokens).fill(PROBE_TOKEN), position: 0 };
    const feeds = session.inputs.map((input) => {
      return [input.name, isPast(input) ? zeros.feed(input, 0) : feedOf(input, step)] as const;
    });
    const results: SessionTensors = await session.run(Object.fromEntries(feeds));
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

/** Everything the masks are made of. */
function upstream(view: GraphView, sites: readonly AttentionSite[], names: readonly string[]) {
  const attended = new Map(sites.map((site) => [site.output.name, site]));
  const nodes = new Set<NodeProto>();
  const graphInputs = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const site = attended.get(name);
    if (site !== undefined) throw maskOfAttention(site);
    if (view.isGraphInput(name)) graphInputs.add(name);
    const node = view.producer(name);
    if (node === null || nodes.has(node)) continue;
    nodes.add(node);
    open.push(...inputsOf(node));
  }
  return {
    nodes: view.graph.node.filter((node) => nodes.has(node)),
    graphInputs: [...graphInputs],
  };
}

function maskOfAttention(site: AttentionSite): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'a mask depends on what attention gave',
    value: site.node,
    valid: 'masks made of lengths and positions',
    next: 'Take the fallback `past-injection`.',
  });
}
