/**
 * The standard operator `Attention` of operator sets 23 and 24.
 *
 * Of a query with a past, `is_causal` means all tokens up to it, as ONNX Runtime computes it; a soft cap comes before masks.
 */
import type { NodeProto } from 'onnx-buf';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import { headDimOf, type ModelConfig } from '../model/config.js';
import { floatAttribute, intAttribute } from './attributes.js';
import { floatTypeOf } from './float-type.js';
import type { GraphView } from './graph-view.js';
import { pastOfNode } from './node-past.js';
import { type KnownParts, refused, unknownPart } from './refusal.js';
import { ownedRotary } from './rotary-source.js';
import type {
  AttentionSite,
  HeadsValue,
  MaskValue,
  SiteGeometry,
  UnsupportedSite,
} from './site.js';
import { foreignTokens } from './sources.js';
import { StaticShapes } from './static-shape.js';

/** Numbers of the operator's inputs. */
const INPUT = {
  query: 0,
  key: 1,
  value: 2,
  mask: 3,
  pastKey: 4,
  pastValue: 5,
  lengths: 6,
} as const;

const KNOWN: KnownParts = {
  inputs: 7,
  outputs: 4,
  attributes: [
    ...['is_causal', 'q_num_heads', 'kv_num_heads', 'scale', 'softcap'],
    ...['softmax_precision', 'qk_matmul_output_mode'],
  ],
};

export function recogniseStandard(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  if (node.opType !== 'Attention' || !/^(ai\.onnx)?$/.test(node.domain)) return null;
  const refuse = (reason: string) => refused(node, reason);
  const [query, key, value] = [input(node, 'query'), input(node, 'key'), input(node, 'value')];
  const reason = refusalOf(node) ?? foreignTokens(view, { query, key, value });
  if (reason !== null) return refuse(reason);
  const masks = masksOf(view, node);
  if (masks === null) return refuse('its mask is neither boolean nor a float');
  const elementType = floatTypeOf(view, query, input(node, 'pastKey'));
  if (elementType === null) return refuse('its queries are neither float32 nor float16');
  const past = pastOfNode(view, node, INPUT.pastKey);
  if ('reason' in past) return refuse(past.reason);
  const geometry = geometryOf(view, node, config);
  if (geometry === null) return refuse('neither shapes nor the configuration say its heads');
  const layout = isRows(node) ? 'rows' : 'headsFirst';
  const heads = (name: string): HeadsValue => ({ name, layout });
  const owned = ownedRotary(view, heads(query), heads(key));
  return {
    form: node.opType,
    node: node.name,
    query: owned?.query ?? heads(query),
    key: owned?.key ?? heads(key),
    value: heads(value),
    output: { name: node.output[0] ?? '', layout },
    elementType,
    geometry: { ...geometry, scale: geometry.scale * (owned?.factor ?? 1) },
    rotary: owned?.rotary ?? null,
    causal: isCausal(node),
    masks,
    past,
  };
}

function input(node: NodeProto, name: keyof typeof INPUT): string {
  return node.input[INPUT[name]] ?? '';
}

function isCausal(node: NodeProto): boolean {
  return intAttribute(node, 'is_causal', 0) === 1;
}

/** Inputs of three dimensions come with their numbers of heads. */
function isRows(node: NodeProto): boolean {
  return intAttribute(node, 'q_num_heads', 0) > 0;
}

/** What of the operator cannot be taken over, in words. */
function refusalOf(node: NodeProto): string | null {
  if (!isCausal(node) && input(node, 'mask') === '')
    return 'it is bidirectional: neither is_causal nor with a mask';
  if (input(node, 'lengths') !== '')
    return 'its keys are a buffer of which nonpad_kv_seqlen says how much is filled';
  if ((node.output[3] ?? '') !== '') return 'it gives out its logits or weights';
  return unknownPart(node, KNOWN);
}

function masksOf(view: GraphView, node: NodeProto): readonly MaskValue[] | null {
  const name = input(node, 'mask');
  if (name === '') return [];
  if (view.elementType(name) === DataType.BOOL) return [{ name, kind: 'boolean' }];
  return floatTypeOf(view, name) === null ? null : [{ name, kind: 'added' }];
}

function geometryOf(view: GraphView, node: NodeProto, config: ModelConfig): SiteGeometry | null {
  const key = headsOf(view, node, { input: 'key', past: 'pastKey', attribute: 'kv_num_heads' });
  const query = headsOf(view, node, { input: 'query', past: null, attribute: 'q_num_heads' });
  const value = headsOf(view, node, {
    input: 'value',
    past: 'pastValue',
    attribute: 'kv_num_heads',
  });
  const queryHeads = query.heads ?? config.num_attention_heads ?? null;
  const kvHeads = key.heads ?? config.num_key_value_heads ?? null;
  const keyHeadDim = query.channels ?? key.channels ?? headDimOf(config);
  const valueHeadDim = value.channels ?? keyHeadDim;
  if (queryHeads === null || kvHeads === null || keyHeadDim === null || valueHeadDim === null)
    return null;
  const scale = floatAttribute(node, 'scale', 0);
  const softCap = floatAttribute(node, 'softcap', 0);
  return {
    queryHeads,
    kvHeads,
    keyHeadDim,
    valueHeadDim,
    scale: scale === 0 ? keyHeadDim ** -0.5 : scale,
    softCap: softCap === 0 ? null : softCap,
    window: null,
  };
}

/** Heads and their channels, from the input or else from the past; null where neither says them. */
function headsOf(
  view: GraphView,
  node: NodeProto,
  names: {
    readonly input: keyof typeof INPUT;
    readonly past: keyof typeof INPUT | null;
    readonly attribute: string;
  },
): { readonly heads: number | null; readonly channels: number | null } {
  const shapes = StaticShapes.of(view);
  const dims = shapes.dims(input(node, names.input));
  const past = names.past === null ? null : shapes.dims(input(node, names.past));
  const ofPast = { heads: past?.[1] ?? null, channels: past?.[3] ?? null };
  if (!isRows(node))
    return { heads: dims?.[1] ?? ofPast.heads, channels: dims?.[3] ?? ofPast.channels };
  const heads = intAttribute(node, names.attribute, 0);
  const width = dims?.[2] ?? null;
  return { heads, channels: width === null ? ofPast.channels : width / heads };
}
