/**
 * Cuts a graph at its attention: which nodes run before the first layer's attention, between two, and after the last, and
 * which make the logits.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { TensorProto_DataType as DataType, type NodeProto } from 'onnx-buf';
import { type GraphView, inputsOf, outputsOf } from '../attention/graph-view.js';
import { FALLBACK } from '../attention/refusal.js';
import type { AttentionSite } from '../attention/site.js';
import { headNodes } from './head-nodes.js';

export interface SegmentPlan {
  /** In the order of the graph; those that depend on constants alone are in every segment that needs them. */
  readonly nodes: readonly NodeProto[];
  /** Sites whose queries, keys and values it gives, and sites whose attention it reads. */
  readonly gives: readonly number[];
  readonly reads: readonly number[];
  readonly graphInputs: readonly string[];
  /** Values of earlier segments, and values for later ones. */
  readonly carriedIn: readonly string[];
  readonly carriedOut: readonly string[];
  /** Works on every token by itself, and reads nothing but their states: it may run over slices of tokens. */
  readonly tokenWise: boolean;
}

export interface Partition {
  /** In the order in which they are attended; numbers in segments are places in this list. */
  readonly sites: readonly AttentionSite[];
  /** The last gives the logits. */
  readonly segments: readonly SegmentPlan[];
}

/** Names of inputs that hold states, and element types of those that only say how long they are. */
const PAST = /^past|cache|state/;
const COUNTS: ReadonlySet<DataType | null> = new Set([
  DataType.INT64,
  DataType.INT32,
  DataType.BOOL,
]);

/** Number of the segment of what depends on no input. */
const CONSTANT = -1;

/** Throws MODEL_UNSUPPORTED for a graph that reads more of the past than its length. */
export function partition(
  view: GraphView,
  found: readonly AttentionSite[],
  logits: string,
): Partition {
  const needed = nodesNeeded(view, found, logits);
  refusePastContents(view, found, needed, logits);
  const levels = new Levels(view, found, needed);
  const sites = [...found].sort((a, b) => levels.ofSite(a) - levels.ofSite(b));
  const last = Math.max(...sites.map((site) => levels.ofSite(site)));
  if (levels.of(logits) !== last + 1)
    throw unsupported('the logits do not come after the attention of the last layer', logits);
  const head = headNodes(view, logits, (name) => levels.of(name));
  levels.separate(head);
  const count = levels.of(logits) + 1;
  const drafts = Array.from({ length: count }, (_, number) =>
    draftSegment(view, sites, needed, levels, number, logits),
  );
  const segments = drafts.map((draft, number) => ({
    ...draft,
    tokenWise: head.length > 0 && number === count - 1,
    carriedOut: [...new Set(drafts.slice(number + 1).flatMap((later) => later.carriedIn))].filter(
      (name) => levels.of(name) === number,
    ),
  }));
  return { sites, segments };
}

/** Names that a site takes from the graph. */
function takenBy({ query, key, value }: AttentionSite): string[] {
  return [query, key, value].map((heads) => heads.name);
}

/** Nodes that queries, keys, values or logits depend on, attention itself not. */
function nodesNeeded(
  view: GraphView,
  sites: readonly AttentionSite[],
  logits: string,
): ReadonlySet<NodeProto> {
  const needed = new Set<NodeProto>();
  const attended = new Set(sites.map((site) => site.output.name));
  const open = [logits, ...sites.flatMap(takenBy)];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = attended.has(name) ? null : view.producer(name);
    if (node === null || needed.has(node)) continue;
    needed.add(node);
    open.push(...inputsOf(node));
  }
  return needed;
}

/** The number of the segment that makes a value. */
class Levels {
  readonly #levels = new Map<string, number>();
  readonly #sites = new Map<string, AttentionSite>();
  readonly #view: GraphView;

  constructor(view: GraphView, sites: readonly AttentionSite[], needed: ReadonlySet<NodeProto>) {
    this.#view = view;
    for (const site of sites) this.#sites.set(site.output.name, site);
    for (const node of view.graph.node) {
      if (!needed.has(node)) continue;
      const level = Math.max(CONSTANT, ...inputsOf(node).map((name) => this.of(name)));
      for (const name of outputsOf(node)) this.#levels.set(name, level);
    }
  }

  of(name: string): number {
    const site = this.#sites.get(name);
    if (site !== undefined) return this.ofSite(site) + 1;
    return this.#levels.get(name) ?? (this.#view.isGraphInput(name) ? 0 : CONSTANT);
  }

  ofSite(site: AttentionSite): number {
    return Math.max(0, ...takenBy(site).map((name) => this.of(name)));
  }

  ofNode(node: NodeProto): number {
    return Math.max(CONSTANT, ...outputsOf(node).map((name) => this.of(name)));
  }

  /** Gives the nodes that make the logits a segment of their own. */
  separate(nodes: readonly NodeProto[]): void {
    for (const name of nodes.flatMap(outputsOf)) this.#levels.set(name, this.of(name) + 1);
  }

  site(name: string): AttentionSite | undefined {
    return this.#sites.get(name);
  }
}

function draftSegment(
  view: GraphView,
  sites: readonly AttentionSite[],
  needed: ReadonlySet<NodeProto>,
  levels: Levels,
  number: number,
  logits: string,
): Omit<SegmentPlan, 'carriedOut' | 'tokenWise'> {
  const nodes = new Set<NodeProto>();
  const reads = new Set<number>();
  const graphInputs = new Set<string>();
  const carriedIn = new Set<string>();
  const given = sites.filter((site) => levels.ofSite(site) === number);
  const own = [...needed].filter((node) => levels.ofNode(node) === number);
  const open = own.flatMap((node) => [...inputsOf(node), ...outputsOf(node)]);
  open.push(...given.flatMap(takenBy));
  if (levels.of(logits) === number) open.push(logits);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const site = levels.site(name);
    const node = view.producer(name);
    if (site !== undefined) reads.add(sites.indexOf(site));
    else if (view.isGraphInput(name)) graphInputs.add(name);
    else if (node === null) continue;
    else if (levels.of(name) !== number && levels.of(name) !== CONSTANT) carriedIn.add(name);
    else if (!nodes.has(node)) {
      nodes.add(node);
      open.push(...inputsOf(node));
    }
  }
  return {
    nodes: view.graph.node.filter((node) => nodes.has(node)),
    gives: given.map((site) => sites.indexOf(site)),
    reads: [...reads].sort((a, b) => a - b),
    graphInputs: [...graphInputs],
    carriedIn: [...carriedIn],
  };
}

/** Lengths may be read from the shape of a past: it is fed as zeros. States of other layers than attention are pasts too. */
function refusePastContents(
  view: GraphView,
  sites: readonly AttentionSite[],
  needed: ReadonlySet<NodeProto>,
  logits: string,
): void {
  const inputs = view.graph.input.map((input) => input.name);
  const contents = new Set([
    ...sites.flatMap((site) => site.past.inputs),
    ...inputs.filter((name) => PAST.test(name) && !COUNTS.has(view.elementType(name))),
  ]);
  const attended = new Set(sites.map((site) => site.output.name));
  for (const node of view.graph.node) {
    if (!needed.has(node) || node.opType === 'Shape' || node.opType === 'Size') continue;
    if (!inputsOf(node).some((name) => contents.has(name))) continue;
    for (const name of outputsOf(node)) if (!attended.has(name)) contents.add(name);
  }
  for (const name of [logits, ...sites.flatMap(takenBy)])
    if (contents.has(name)) throw unsupported('a value depends on what the past holds', name);
}

function unsupported(message: string, value: string): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message,
    value,
    valid: 'a decoder in which keys and values of the past go into attention alone',
    next: FALLBACK,
  });
}
