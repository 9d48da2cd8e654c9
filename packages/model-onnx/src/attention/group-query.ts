/**
 * `com.microsoft.GroupQueryAttention`: causal, with its past, rotary embedding, window and soft cap inside the operator.
 */
import type { NodeProto } from 'onnx-buf';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import { headDimOf, type ModelConfig } from '../model/config.js';
import { floatAttribute, intAttribute, stringAttribute } from './attributes.js';
import type { GraphView } from './graph-view.js';
import { isTable, rotaryBefore } from './rotary-node.js';
import type {
  AttentionSite,
  HeadsValue,
  RotarySite,
  SiteGeometry,
  UnsupportedSite,
} from './site.js';

/** Numbers of the operator's inputs. */
const INPUT = {
  query: 0,
  key: 1,
  value: 2,
  pastKey: 3,
  pastValue: 4,
  cosine: 7,
  sine: 8,
  positions: 9,
  attentionBias: 10,
  headSink: 11,
  keyScale: 12,
  valueScale: 13,
} as const;

export function recogniseGroupQuery(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  if (node.opType !== 'GroupQueryAttention' || node.domain !== 'com.microsoft') return null;
  const refuse = (reason: string): UnsupportedSite => ({
    node: node.name,
    operator: node.opType,
    reason,
  });
  const reason = refusalOf(view, node);
  if (reason !== null) return refuse(reason);

  const query = input(node, 'query');
  const elementType = elementTypeOf(view, query, input(node, 'pastKey'));
  if (elementType === null) return refuse('its queries are neither float32 nor float16');
  const headDim = headDimOfNode(view, node, config);
  if (headDim === null)
    return refuse('neither a past nor a table nor the configuration says its head dim');
  const geometry = geometryOf(node, headDim);
  const inside = rotaryInside(node);
  const before = inside === null ? rotaryBefore(view, query, input(node, 'key')) : null;
  return {
    form: node.opType,
    node: node.name,
    ...headsOf(node, geometry, before ?? { query, key: input(node, 'key') }),
    output: { name: node.output[0] ?? '', layout: 'rows' },
    elementType,
    geometry,
    rotary: inside ?? before?.rotary ?? null,
    masks: [],
    past: {
      inputs: node.input.slice(INPUT.pastKey, INPUT.pastValue + 1).filter((name) => name !== ''),
      outputs: node.output.slice(1, 3).filter((name) => name !== ''),
    },
  };
}

function input(node: NodeProto, name: keyof typeof INPUT): string {
  return node.input[INPUT[name]] ?? '';
}

/** What of the operator cannot be taken over, in words. */
function refusalOf(view: GraphView, node: NodeProto): string | null {
  if (input(node, 'attentionBias') !== '') return 'it has an attention bias';
  if (input(node, 'headSink') !== '') return 'it has a sink per head';
  if (intAttribute(node, 'smooth_softmax', 0) === 1) return 'it has a smooth softmax';
  const quantized = ['k_quant_type', 'v_quant_type'].some(
    (name) => stringAttribute(node, name, 'NONE') !== 'NONE',
  );
  if (quantized || input(node, 'keyScale') !== '' || input(node, 'valueScale') !== '')
    return 'its cache is quantized by the operator itself';
  if ((node.output[3] ?? '') !== '') return 'it gives out its attention weights';
  if ((input(node, 'key') === '') !== (input(node, 'value') === ''))
    return 'it has only one of keys and values';
  const past = [input(node, 'pastKey'), input(node, 'pastValue')].filter((name) => name !== '');
  if (past.some((name) => !view.isGraphInput(name)))
    return 'its past is no input of the model, as in cross attention or in layers that share a cache';
  if (intAttribute(node, 'do_rotary', 0) === 0) return null;
  if (!isTable(view, input(node, 'cosine')) || !isTable(view, input(node, 'sine')))
    return 'the tables of its rotary embedding are computed, not initializers';
  const positions = input(node, 'positions');
  if (positions !== '' && !view.isGraphInput(positions))
    return 'the positions of its rotary embedding are computed';
  return null;
}

export function elementTypeOf(
  view: GraphView,
  ...names: readonly string[]
): 'float32' | 'float16' | null {
  for (const name of names) {
    const type = view.elementType(name);
    if (type === DataType.FLOAT) return 'float32';
    if (type === DataType.FLOAT16) return 'float16';
  }
  return null;
}

function headDimOfNode(view: GraphView, node: NodeProto, config: ModelConfig): number | null {
  const ofPast = view.shape(input(node, 'pastKey'))?.[3];
  if (typeof ofPast === 'number') return ofPast;
  // A table may cover a part of the head alone: the configuration knows better.
  const ofConfig = headDimOf(config);
  if (ofConfig !== null) return ofConfig;
  const pairs = view.shape(input(node, 'cosine'))?.[1];
  return typeof pairs === 'number' ? 2 * pairs : null;
}

function geometryOf(node: NodeProto, headDim: number): SiteGeometry {
  const scale = floatAttribute(node, 'scale', 0);
  const softCap = floatAttribute(node, 'softcap', 0);
  const window = intAttribute(node, 'local_window_size', -1);
  return {
    queryHeads: intAttribute(node, 'num_heads', 0),
    kvHeads: intAttribute(node, 'kv_num_heads', 0),
    keyHeadDim: headDim,
    valueHeadDim: headDim,
    scale: scale === 0 ? 1 / Math.sqrt(headDim) : scale,
    softCap: softCap === 0 ? null : softCap,
    window: window === -1 ? null : window,
  };
}

function rotaryInside(node: NodeProto): RotarySite | null {
  if (intAttribute(node, 'do_rotary', 0) === 0) return null;
  return {
    cosine: input(node, 'cosine'),
    sine: input(node, 'sine'),
    pairs: intAttribute(node, 'rotary_interleaved', 0) === 1 ? 'adjacent' : 'halves',
  };
}

/** Without keys, the queries hold all three: queries, keys and values of a token one after the other. */
function headsOf(
  node: NodeProto,
  { queryHeads, kvHeads, keyHeadDim }: SiteGeometry,
  names: { readonly query: string; readonly key: string },
): { readonly query: HeadsValue; readonly key: HeadsValue; readonly value: HeadsValue } {
  const rows = (name: string): HeadsValue => ({ name, layout: 'rows' });
  if (names.key !== '')
    return { query: rows(names.query), key: rows(names.key), value: rows(input(node, 'value')) };
  const ofQuery = queryHeads * keyHeadDim;
  const ofKey = kvHeads * keyHeadDim;
  const part = (first: number, count: number): HeadsValue => ({
    name: names.query,
    layout: 'rows',
    channels: { first, count },
  });
  return {
    query: part(0, ofQuery),
    key: part(ofQuery, ofKey),
    value: part(ofQuery + ofKey, ofKey),
  };
}
