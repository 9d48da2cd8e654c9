/**
 * `com.microsoft.MultiHeadAttention`: as many kv heads as query heads; queries, keys and values apart or packed.
 */
import type { NodeProto } from 'onnx-buf';
import { headDimOf, type ModelConfig } from '../model/config.js';
import { floatAttribute, intAttribute } from './attributes.js';
import { floatTypeOf } from './float-type.js';
import type { GraphView } from './graph-view.js';
import { NEVER_SEEN } from './mask-limit.js';
import { pastOfNode } from './node-past.js';
import { type KnownParts, refused, unknownPart } from './refusal.js';
import { ownedRotary } from './rotary-source.js';
import type { AttentionSite, HeadsValue, MaskValue, UnsupportedSite } from './site.js';
import { foreignTokens } from './sources.js';
import { StaticShapes } from './static-shape.js';

/** Numbers of the operator's inputs. */
const INPUT = {
  query: 0,
  key: 1,
  value: 2,
  bias: 3,
  paddingMask: 4,
  attentionBias: 5,
  pastKey: 6,
  pastValue: 7,
  pastLength: 8,
  cacheIndirection: 9,
} as const;

const KNOWN: KnownParts = {
  inputs: 10,
  outputs: 4,
  attributes: ['num_heads', 'mask_filter_value', 'scale', 'unidirectional'],
};

export function recogniseMultiHead(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  if (node.opType !== 'MultiHeadAttention' || node.domain !== 'com.microsoft') return null;
  const refuse = (reason: string) => refused(node, reason);
  const reason = refusalOf(view, node);
  if (reason !== null) return refuse(reason);
  const heads = intAttribute(node, 'num_heads', 0);
  const layouts = layoutsOf(view, node);
  if (layouts === null) return refuse('the graph does not say how its keys and values lie');
  const dims = headDims(view, layouts, heads, node, config);
  if (dims === null)
    return refuse('neither shapes nor the configuration say the channels of a head');
  const elementType = floatTypeOf(view, layouts.query.name, input(node, 'pastKey'));
  if (elementType === null) return refuse('its queries are neither float32 nor float16');
  const past = pastOfNode(view, node, INPUT.pastKey);
  if ('reason' in past) return refuse(past.reason);
  const biased = withBias(node, layouts, heads, dims);
  if (biased === null) return refuse('it has a bias on keys that are no rows');
  const owned = ownedRotary(view, biased.query, biased.key);
  const scale = floatAttribute(node, 'scale', 0);
  return {
    form: node.opType,
    node: node.name,
    query: owned?.query ?? biased.query,
    key: owned?.key ?? biased.key,
    value: biased.value,
    output: { name: node.output[0] ?? '', layout: 'rows' },
    elementType,
    geometry: {
      queryHeads: heads,
      kvHeads: heads,
      keyHeadDim: dims.key,
      valueHeadDim: dims.value,
      scale: (scale === 0 ? dims.key ** -0.5 : scale) * (owned?.factor ?? 1),
      softCap: null,
      window: null,
    },
    rotary: owned?.rotary ?? null,
    causal: isCausal(node),
    masks: masksOf(node),
    past,
  };
}

function input(node: NodeProto, name: keyof typeof INPUT): string {
  return node.input[INPUT[name]] ?? '';
}

function isCausal(node: NodeProto): boolean {
  return intAttribute(node, 'unidirectional', 0) === 1;
}

/** What of the operator cannot be taken over, in words. */
function refusalOf(view: GraphView, node: NodeProto): string | null {
  if (!isCausal(node) && input(node, 'attentionBias') === '')
    return 'it is bidirectional: neither unidirectional nor with a mask';
  if (floatAttribute(node, 'mask_filter_value', NEVER_SEEN) > NEVER_SEEN)
    return 'its masks hide only in part';
  const bias = input(node, 'bias');
  if (bias !== '' && view.initializer(bias) === null) return 'its bias is computed';
  if (!isPadding(view, input(node, 'paddingMask')))
    return 'its padding mask is not the attention_mask of the model';
  if (input(node, 'pastLength') !== '' || input(node, 'cacheIndirection') !== '')
    return 'its past lies in a buffer that the operator writes';
  if ((node.output[3] ?? '') !== '') return 'it gives out its attention weights';
  const [query, key, value] = [input(node, 'query'), input(node, 'key'), input(node, 'value')];
  const names = { query, key: key || query, value: value || key || query };
  return foreignTokens(view, names) ?? unknownPart(node, KNOWN);
}

/** Nothing, or the integers of `attention_mask`: one sequence has no padding. */
function isPadding(view: GraphView, name: string): boolean {
  if (name === '' || name === 'attention_mask') return true;
  const node = view.producer(name);
  return node?.opType === 'Cast' && node.input[0] === 'attention_mask';
}

function masksOf(node: NodeProto): MaskValue[] {
  const name = input(node, 'attentionBias');
  return name === '' ? [] : [{ name, kind: 'added' }];
}

interface Projected {
  readonly query: HeadsValue;
  readonly key: HeadsValue;
  readonly value: HeadsValue;
}

/** Queries alone hold all three, `[batch, tokens, heads, 3, headDim]`; keys without values hold both. */
function layoutsOf(view: GraphView, node: NodeProto): Projected | null {
  const [query, key, value] = [input(node, 'query'), input(node, 'key'), input(node, 'value')];
  const part = (name: string, number: number): HeadsValue => ({
    name,
    layout: 'parts',
    part: number,
  });
  if (key === '') return { query: part(query, 0), key: part(query, 1), value: part(query, 2) };
  const rows: HeadsValue = { name: query, layout: 'rows' };
  if (value === '') return { query: rows, key: part(key, 0), value: part(key, 1) };
  const rank = StaticShapes.of(view).dims(key)?.length;
  if (rank !== 3 && rank !== 4) return null;
  const layout = rank === 4 ? 'headsFirst' : 'rows';
  return { query: rows, key: { name: key, layout }, value: { name: value, layout } };
}

function headDims(
  view: GraphView,
  { query, key, value }: Projected,
  heads: number,
  node: NodeProto,
  config: ModelConfig,
): { readonly key: number; readonly value: number } | null {
  const shapes = StaticShapes.of(view);
  const channels = (from: HeadsValue, pastInput: keyof typeof INPUT) => {
    const last = shapes.dims(from.name)?.at(-1) ?? null;
    const ofPast = shapes.dims(input(node, pastInput))?.at(-1) ?? null;
    if (last === null) return ofPast;
    return from.layout === 'rows' ? last / heads : last;
  };
  const ofKey = channels(query, 'pastKey') ?? channels(key, 'pastKey') ?? headDimOf(config);
  const ofValue = channels(value, 'pastValue') ?? ofKey;
  return ofKey === null || ofValue === null ? null : { key: ofKey, value: ofValue };
}

/** The bias holds those of queries, keys and values one after the other; null where the operator has no rows to add it to. */
function withBias(
  node: NodeProto,
  { query, key, value }: Projected,
  heads: number,
  dims: { readonly key: number; readonly value: number },
): Projected | null {
  const name = input(node, 'bias');
  if (name === '') return { query, key, value };
  if (key.layout !== query.layout) return null;
  const count = heads * dims.key;
  return {
    query: { ...query, bias: { name, first: 0, count } },
    key: { ...key, bias: { name, first: count, count } },
    value: { ...value, bias: { name, first: 2 * count, count: heads * dims.value } },
  };
}
