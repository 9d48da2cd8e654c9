/**
 * `com.microsoft.GroupQueryAttention`: causal, with its past, rotary embedding, window and soft cap inside the operator.
 */
import type { NodeProto } from 'onnx-buf';
import { headDimOf, type ModelConfig } from '../model/config.js';
import { floatAttribute, intAttribute, stringAttribute } from './attributes.js';
import { floatTypeOf } from './float-type.js';
import type { GraphView } from './graph-view.js';
import { pastOfNode } from './node-past.js';
import { type KnownParts, refused, unknownPart } from './refusal.js';
import { rotaryBefore } from './rotary-node.js';
import { constantTable } from './rotary-table.js';
import type {
  AttentionSite,
  HeadsValue,
  RotarySite,
  SiteGeometry,
  UnsupportedSite,
} from './site.js';
import { StaticShapes } from './static-shape.js';

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

/** Weights of norms of queries and keys, inputs 14 and 15, are what only other devices than the CPU take. */
const KNOWN: KnownParts = {
  inputs: 14,
  outputs: 4,
  attributes: [
    ...['num_heads', 'kv_num_heads', 'scale', 'softcap', 'local_window_size', 'do_rotary'],
    ...['rotary_interleaved', 'smooth_softmax', 'qk_output'],
    ...['k_quant_type', 'v_quant_type', 'kv_cache_bit_width'],
  ],
};

export function recogniseGroupQuery(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  if (node.opType !== 'GroupQueryAttention' || node.domain !== 'com.microsoft') return null;
  const refuse = (reason: string) => refused(node, reason);
  const reason = refusalOf(view, node);
  if (reason !== null) return refuse(reason);

  const query = input(node, 'query');
  const elementType = floatTypeOf(view, query, input(node, 'pastKey'));
  if (elementType === null) return refuse('its queries are neither float32 nor float16');
  const headDim = headDimOfNode(view, node, config);
  if (headDim === null) return refuse('neither shapes nor the configuration say its head dim');
  const past = pastOfNode(view, node, INPUT.pastKey);
  if ('reason' in past) return refuse(past.reason);
  const geometry = geometryOf(node, headDim);
  const bias = input(node, 'attentionBias');
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
    causal: true,
    masks: bias === '' ? [] : [{ name: bias, kind: 'added' }],
    past,
  };
}

function input(node: NodeProto, name: keyof typeof INPUT): string {
  return node.input[INPUT[name]] ?? '';
}

/** What of the operator cannot be taken over, in words. */
function refusalOf(view: GraphView, node: NodeProto): string | null {
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
  if (intAttribute(node, 'do_rotary', 0) === 1) {
    const tables = [input(node, 'cosine'), input(node, 'sine')];
    if (tables.some((name) => constantTable(view, name) === null))
      return 'the tables of its rotary embedding are computed';
    const positions = input(node, 'positions');
    if (positions !== '' && !view.isGraphInput(positions))
      return 'the positions of its rotary embedding are computed';
  }
  return unknownPart(node, KNOWN);
}

function headDimOfNode(view: GraphView, node: NodeProto, config: ModelConfig): number | null {
  const ofPast = view.shape(input(node, 'pastKey'))?.[3];
  if (typeof ofPast === 'number') return ofPast;
  const width = StaticShapes.of(view).dims(input(node, 'query'))?.[2] ?? null;
  if (width === null) return headDimOf(config);
  const heads = intAttribute(node, 'num_heads', 0);
  const packed = input(node, 'key') === '' ? 2 * intAttribute(node, 'kv_num_heads', 0) : 0;
  return width / (heads + packed);
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
    window: window > 0 ? window : null,
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
