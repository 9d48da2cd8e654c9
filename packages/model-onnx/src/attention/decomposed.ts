/**
 * Attention written as single operators: a product of queries and keys, scale, soft cap, mask, Softmax, a product with values.
 */
import type { NodeProto } from 'onnx-buf';
import { headDimOf, type ModelConfig } from '../model/config.js';
import { looksLikeAttention } from './attention-like.js';
import { intAttribute } from './attributes.js';
import { type CachedHeads, cachedHeads } from './decomposed-cache.js';
import { type Scores, scoresOf } from './decomposed-scores.js';
import { floatTypeOf } from './float-type.js';
import type { GraphView } from './graph-view.js';
import { HEADS_FIRST } from './heads-path.js';
import { refused } from './refusal.js';
import { type OwnedRotary, ownedRotary } from './rotary-source.js';
import type { AttentionSite, HeadsValue, SiteGeometry, UnsupportedSite } from './site.js';
import { foreignTokens } from './sources.js';
import { StaticShapes } from './static-shape.js';
import { type Weighted, weightedBy } from './weighted-values.js';

const FORM = 'MatMul + Softmax + MatMul';
const KEYS_TURNED = ['batch', 'heads', 'channels', 'tokens'] as const;

export function recogniseDecomposed(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  if (node.opType !== 'Softmax') return null;
  const parts = partsOf(view, node);
  if (parts === null) return null;
  const site = 'reason' in parts ? parts : siteOf(view, node, config, parts);
  return 'reason' in site ? { ...refused(node, site.reason), operator: FORM } : site;
}

interface Refusal {
  readonly reason: string;
}

interface Parts {
  readonly scores: Scores;
  readonly weighted: Weighted;
  readonly query: HeadsValue;
  readonly key: CachedHeads;
  readonly value: CachedHeads;
}

/** Null where the Softmax is none of attention. */
function partsOf(view: GraphView, node: NodeProto): Parts | Refusal | null {
  const scores = scoresOf(view, node.input[0] ?? '');
  const weighted = weightedBy(view, node.output[0] ?? '');
  if (scores === null || weighted === null) {
    const reason = 'what lies between its Softmax and its products of matrices is not known';
    return looksLikeAttention(view, node) ? { reason } : null;
  }
  const reason = scores.refusal ?? weighted.refusal ?? refusalOf(view, node, scores);
  if (reason !== null) return { reason };
  const [query = '', readKey = ''] = scores.product.input;
  const turned = intAttribute(scores.product, 'transB', 0) === 1 ? HEADS_FIRST : KEYS_TURNED;
  const key = cachedHeads(view, readKey, turned);
  if ('reason' in key) return key;
  const value = cachedHeads(view, weighted.values, HEADS_FIRST);
  if ('reason' in value) return value;
  if (value.factor !== 1) return { reason: 'its values are scaled behind the cache' };
  if (key.past.inputs.length !== value.past.inputs.length)
    return { reason: 'only one of its keys and values has a past' };
  const names = { query, key: key.heads.name, value: value.heads.name };
  const foreign = foreignTokens(view, names);
  if (foreign !== null) return { reason: foreign };
  return { scores, weighted, query: { name: query, layout: 'headsFirst' }, key, value };
}

/** What of the Softmax cannot be taken over, in words. */
function refusalOf(view: GraphView, node: NodeProto, { masks, product }: Scores): string | null {
  const rank = StaticShapes.of(view).dims(product.input[0] ?? '')?.length ?? 4;
  if (rank !== 4) return `its heads have ${rank} axes, not batch, heads, tokens and channels`;
  const lastByDefault = view.opset('') >= 13 ? -1 : 1;
  const axis = intAttribute(node, 'axis', lastByDefault);
  if (axis !== -1 && axis !== 3) return 'its Softmax is not over tokens';
  return masks.length === 0 ? 'it is bidirectional: no mask is applied to its logits' : null;
}

function siteOf(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
  { scores, weighted, query, key, value }: Parts,
): AttentionSite | Refusal {
  const owned = ownedRotary(view, query, key.heads);
  const heads = { query: owned?.query ?? query, key: owned?.key ?? key.heads, value: value.heads };
  const elementType = floatTypeOf(view, weighted.output);
  if (elementType === null) return { reason: 'its output is neither float32 nor float16' };
  const geometry = geometryOf(view, config, { scores, query, key, value }, owned);
  if (geometry === null)
    return { reason: 'neither shapes nor the configuration say its heads and their channels' };
  return {
    form: key.past.inputs.length > 0 ? `Concat + ${FORM}` : FORM,
    node: node.name,
    ...heads,
    output: { name: weighted.output, layout: 'headsFirst' },
    elementType,
    geometry,
    rotary: owned?.rotary ?? null,
    causal: false,
    masks: scores.masks,
    past: {
      inputs: [...key.past.inputs, ...value.past.inputs],
      outputs: [...key.past.outputs, ...value.past.outputs],
    },
  };
}

function geometryOf(
  view: GraphView,
  config: ModelConfig,
  { scores, query, key, value }: Omit<Parts, 'weighted'>,
  owned: OwnedRotary | null,
): SiteGeometry | null {
  const dims = StaticShapes.of(view).dims(query.name);
  const queryHeads = dims?.[1] ?? config.num_attention_heads ?? null;
  const kvHeads = key.kvHeads ?? config.num_key_value_heads ?? queryHeads;
  const keyHeadDim = key.headDim ?? dims?.[3] ?? headDimOf(config);
  const valueHeadDim = value.headDim ?? keyHeadDim;
  if (queryHeads === null || kvHeads === null || keyHeadDim === null || valueHeadDim === null)
    return null;
  return {
    queryHeads,
    kvHeads,
    keyHeadDim,
    valueHeadDim,
    // c tanh(f x) is c tanh(s x / c) for s = f c.
    scale: scores.scale * scores.capScale * key.factor * (owned?.factor ?? 1),
    softCap: scores.capped ? scores.capScale : null,
    window: null,
  };
}
