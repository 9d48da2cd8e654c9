/**
 * A decoder's graph as a row of sessions: one before the first attention, one between two, one after the last, one
 * for the logits.
 */
import type { ModelProto } from 'onnx-buf';
import type { GraphView } from '../attention/graph-view.js';
import type { AttentionSite } from '../attention/site.js';
import type { ModelInput } from '../model/input-contract.js';
import { ModelSession, partOptions, type SessionSettings } from '../model/session.js';
import { Adapters, edgeName } from './adapters.js';
import type { Partition, SegmentPlan } from './partition.js';
import { type EdgeValue, writeSegment } from './segment-model.js';

export interface Segment {
  readonly plan: SegmentPlan;
  readonly session: ModelSession;
  /** Those of the graph alone. */
  readonly graphInputs: readonly ModelInput[];
}

/** Name of the logits that the last segment gives, f32. */
export const LOGITS = edgeName('logits', 0);

/** Opens all segments, or none. Throws MODEL_INVALID. */
export async function openSegments(
  model: ModelProto,
  view: GraphView,
  { sites, segments }: Partition,
  logits: string,
  settings: SessionSettings,
): Promise<Segment[]> {
  const opened: Segment[] = [];
  const carried = new Map<string, EdgeValue>();
  try {
    for (const [number, plan] of segments.entries()) {
      const last = number === segments.length - 1;
      const adapters = adaptersOf(plan, sites, number, last ? logits : null);
      const edgeInputs = [
        ...plan.carriedIn.map((name) => known(carried, name)),
        ...plan.reads.map((layer) => attentionEdge(sites, layer)),
      ];
      const { bytes, external } = writeSegment(model, view, {
        nodes: [...adapters.before.nodes, ...plan.nodes, ...adapters.after.nodes],
        initializers: [...adapters.before.initializers, ...adapters.after.initializers],
        graphInputs: plan.graphInputs,
        edgeInputs,
        outputs: [...adapters.outputs, ...plan.carriedOut],
      });
      const what = `segment ${number} of the model`;
      // The head unpacks its weights into more memory than all else takes: fresh pages for them take long each time.
      const options = { ...partOptions(settings), enableCpuMemArena: last };
      const session = await ModelSession.load(what, bytes, options, external);
      for (const value of session.outputs) carried.set(value.name, value);
      const graphInputs = session.inputs.filter(({ name }) => plan.graphInputs.includes(name));
      opened.push({ plan, session, graphInputs });
    }
    return opened;
  } catch (error) {
    await Promise.all(opened.map(({ session }) => session.release()));
    throw error;
  }
}

interface SegmentAdapters {
  readonly before: Adapters;
  readonly after: Adapters;
  readonly outputs: readonly string[];
}

function adaptersOf(
  plan: SegmentPlan,
  sites: readonly AttentionSite[],
  number: number,
  logits: string | null,
): SegmentAdapters {
  const before = new Adapters(`lowbit_kv.in.${number}`);
  const after = new Adapters(`lowbit_kv.out.${number}`);
  const outputs: string[] = [];
  for (const layer of plan.reads) {
    const site = sites[layer];
    if (site !== undefined) before.attentionIn(edgeName('attention', layer), site);
  }
  for (const layer of plan.gives) {
    const site = sites[layer];
    if (site === undefined) continue;
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = site.geometry;
    after.headsOut(site.query, queryHeads * keyHeadDim, edgeName('query', layer));
    after.headsOut(site.key, kvHeads * keyHeadDim, edgeName('key', layer));
    after.headsOut(site.value, kvHeads * valueHeadDim, edgeName('value', layer));
    outputs.push(...(['query', 'key', 'value'] as const).map((kind) => edgeName(kind, layer)));
  }
  if (logits !== null) {
    after.castOut(logits, LOGITS);
    outputs.push(LOGITS);
  }
  return { before, after, outputs };
}

function attentionEdge(sites: readonly AttentionSite[], layer: number): EdgeValue {
  const { queryHeads, valueHeadDim } = sites[layer]?.geometry ?? { queryHeads: 0, valueHeadDim: 0 };
  return {
    name: edgeName('attention', layer),
    type: 'float32',
    shape: [1, null, queryHeads * valueHeadDim],
  };
}

function known(carried: ReadonlyMap<string, EdgeValue>, name: string): EdgeValue {
  const value = carried.get(name);
  if (value !== undefined) return value;
  throw new TypeError(`no segment gives ${name}`);
}
