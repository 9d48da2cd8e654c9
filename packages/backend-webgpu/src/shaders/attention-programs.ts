/**
 * The kernels of attention over one layer: queries, the packing kernel, merge.
 */
import {
  isMeasured,
  type LayerPlan,
  type TensorPlan,
  type Transform,
  transformsOf,
} from '@lowbit-kv/core';
import { type CodeOrder, codeOrder } from './code-order.js';
import { codecText } from './codec-text.js';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { HALF_WORKGROUPS, halfAttention, staysHalf } from './half-programs.js';
import { INTEGER_WORKGROUPS, integerAttention } from './integer-attention.js';
import { type Program, program } from './programs.js';
import { parameterText } from './quantizer-pieces.js';
import type { ShaderOptions } from './shader-options.js';
import { tensorConstants } from './tensor-constants.js';
import type { TensorNumbers } from './tensor-numbers.js';
import { inversePieces, queryPieces } from './transform-steps.js';

export type { Precision, ShaderOptions } from './shader-options.js';

export interface AttentionPrograms {
  readonly query: Program;
  readonly attend: Program;
  readonly merge: Program;
  /** Query rows of one workgroup. */
  readonly rows: number;
  /** f32 words of one query in the query buffer. */
  readonly queryWords: number;
  readonly partialWords: number;
  /** Whether a workgroup meets packed tokens in the same slots of both tensors, or only others. */
  readonly pagesApart: boolean;
  /** Set where few long splits are better than many that are merged: with fewer workgroups a large device idles. */
  readonly fewestWorkgroups?: number;
}

/** Query rows of a workgroup. */
const ROWS = 4;
/** Workgroup memory a device surely has, and what the general attention needs beside queries. */
const WORKGROUP_BYTES = 16384;
const TILE_BYTES = 16 * 2 * 64;
/** Sums of the lanes of attention-staged.wgsl. */
const SUM_BYTES = 16 * 64;
/** Tokens that are decoded together where lanes do that together. */
const STAGED = [16, 8, 4, 2, 1];

/** The order in which a layer keeps its codes on a device with these options. */
export function orderOf(layer: LayerPlan, options: ShaderOptions): CodeOrder {
  return options.integerDots ? codeOrder(layer) : 'canonical';
}

export function attentionPrograms(
  layer: LayerPlan,
  numbers: { readonly key: TensorNumbers; readonly value: TensorNumbers },
  options: ShaderOptions,
): AttentionPrograms {
  const { key, value, geometry } = layer;
  const groupHeads = geometry.queryHeads / geometry.kvHeads;
  const order = orderOf(layer, options);
  const keyTransforms = queryTransforms(key);
  const valueTransforms = transformsOf(value);
  const queryWords = queryWordsOf(key);
  const plainWords = 4 * Math.ceil(value.headDim / 4);
  const partialWords = 4 + plainWords * (valueTransforms.length === 0 ? 1 : 2);
  const constants: Constants = {
    ...tensorConstants(key, numbers.key, order, 'key_'),
    ...tensorConstants(value, numbers.value, order, 'value_'),
    MERGE_SIZE: value.headDim <= 64 ? 64 : 128,
    ROWS,
    QUERY_WORDS: queryWords,
    PARTIAL_WORDS: partialWords,
    PARTIAL_PACKED: 4 + plainWords,
    QUERY_HEADS: geometry.queryHeads,
    GROUP_HEADS: groupHeads,
    KV_HEADS: geometry.kvHeads,
    KEY_TRANSFORMED: keyTransforms.length > 0,
    KEY_MEASURED: keyTransforms.some(isMeasured),
    VALUE_TRANSFORMED: valueTransforms.length > 0,
    VALUE_MEASURED: valueTransforms.some(isMeasured),
    NO_STATISTICS: 0xffffffff,
    LOGIT_SCALE: { f32: geometry.scale },
    ROTARY_PAIRS: geometry.rotary?.frequencies.length ?? 0,
    ROTARY_ADJACENT: geometry.rotary?.pairs === 'adjacent',
    key_frequenciesWord: numbers.key.frequencies,
    SOFT_CAP: { f32: geometry.softCap ?? 0 },
    WINDOW_SIZE: geometry.slidingWindow?.size ?? 0,
    WINDOW_SINKS: geometry.slidingWindow?.sinks ?? 0,
  };
  const compose = (channels: number, pieces: readonly Piece[]) =>
    composeShader({ ...constants, ROW_CHANNELS: channels }, ['job', 'numbers', ...pieces]);
  const isInteger = order === 'reduction';
  const attend = isInteger
    ? integerAttention(layer, constants, options)
    : staysHalf(layer)
      ? halfAttention(layer, constants, options)
      : composeShader({ ...constants, ROW_CHANNELS: key.headDim, ...stagedConstants(layer) }, [
          'job',
          'numbers',
          'parameters',
          'attention-work',
          'attention',
          ...stagedPieces(layer),
          ...logitPieces(layer, numbers.key),
          ...elementPieces(key),
          ...elementPieces(value),
        ]);
  return {
    query: program(
      'prepareQuery',
      compose(key.headDim, ['query', ...queryPieces(key, numbers.key, keyTransforms.length)]),
      ['read', 'read', 'write'],
    ),
    attend: program('attend', attend, ['read', 'read', 'read', 'read', 'write']),
    merge: program(
      'merge',
      compose(value.headDim, ['merge', ...inversePieces(value, numbers.value)]),
      ['read', 'read', 'write', 'write'],
    ),
    rows: ROWS,
    queryWords,
    partialWords,
    pagesApart: isInteger,
    ...(isInteger && { fewestWorkgroups: INTEGER_WORKGROUPS }),
    ...(staysHalf(layer) && { fewestWorkgroups: HALF_WORKGROUPS }),
  };
}

/** f32 words of one query: as it came, as it meets packed keys, and what is added, in a vector of its own. */
function queryWordsOf(key: TensorPlan): number {
  return queryTransforms(key).length === 0 ? key.headDim : 2 * key.headDim + 4;
}

/** Of keys before the rotary embedding transforms are undone in each key instead. */
function queryTransforms(key: TensorPlan): readonly Transform[] {
  return isPreRope(key) ? [] : transformsOf(key);
}

function isPreRope({ scheme }: TensorPlan): boolean {
  return scheme.bits !== 16 && scheme.stage === 'pre-rope';
}

function logitPieces({ key }: LayerPlan, numbers: TensorNumbers): Piece[] {
  if (isPreRope(key))
    return ['attention-staged', 'keys-turned', 'rotary', ...inversePieces(key, numbers)];
  return isStaged(key) ? ['attention-staged', 'keys-decoded'] : ['attention-dots'];
}

function stagedPieces({ key, value }: LayerPlan): Piece[] {
  const stages = (plan: TensorPlan): Piece[] => {
    const prefix = `${plan.tensor}_`;
    const packed = plan.codec === undefined ? 'stage-bands' : 'stage-codec';
    return [
      { part: 'stage', prefix },
      { part: packed, prefix },
    ];
  };
  return [
    ...(isStaged(key) || isStaged(value) ? (['staged'] as const) : []),
    ...(isStaged(key) && !isPreRope(key) ? stages(key) : []),
    ...(isStaged(value) ? stages(value) : []),
    isStaged(value) ? 'values-staged' : 'values-plain',
  ];
}

function stagedConstants(layer: LayerPlan): Constants {
  return {
    STAGED: stagedTokens(layer) ?? 0,
    STAGED_CHANNELS: stagedChannels(layer),
  };
}

/**
 * Whether all lanes decode tokens together: groups of a codec, runs of bytes and keys that turn to their positions are more
 * than single elements.
 */
function isStaged(plan: TensorPlan): boolean {
  const { scheme, codec } = plan;
  const hasBands = scheme.bits !== 16 && scheme.outliers?.kind === 'bands';
  return codec !== undefined || hasBands || isPreRope(plan);
}

function stagedChannels({ key, value }: LayerPlan): number {
  return Math.max(...[key, value].map((plan) => (isStaged(plan) ? plan.headDim : 0)));
}

/** Undefined when not even one token fits into workgroup memory beside the queries. */
function stagedTokens(layer: LayerPlan): number | undefined {
  const { key } = layer;
  const fixed =
    4 * ROWS * queryWordsOf(key) +
    TILE_BYTES +
    (isStaged(key) ? SUM_BYTES : 0) +
    (isPreRope(key) ? 4 * key.headDim : 0);
  return STAGED.find((tokens) => fixed + 4 * tokens * stagedChannels(layer) <= WORKGROUP_BYTES);
}

/** Whether the queries of a workgroup, and a token that all lanes decode, fit into its memory. */
export function queriesFit(layer: LayerPlan): boolean {
  return stagedTokens(layer) !== undefined;
}

function elementPieces({ tensor, scheme, codec }: TensorPlan): Piece[] {
  const prefix = `${tensor}_`;
  const pieces = (parts: readonly ShaderPart[]) => parts.map((part): Piece => ({ part, prefix }));
  if (scheme.bits === 16) return pieces(['element-window', 'element']);
  if (codec !== undefined) {
    const text = codecText(codec, `${prefix}codec_`, `${prefix}memory[index]`);
    return [text, ...pieces(['element-codec', 'element'])];
  }
  const fields: Piece[] = [parameterText(scheme, prefix), ...pieces(['element-parameters'])];
  const { outliers } = scheme;
  if (outliers?.kind === 'bands')
    return [...fields, ...pieces(['element-canonical', 'element-bands', 'element'])];
  const { mode, codes } = scheme.quantizer;
  const value: ShaderPart =
    typeof codes === 'object'
      ? 'element-levels'
      : mode === 'asymmetric'
        ? 'element-asymmetric'
        : mode === 'hybrid'
          ? 'element-hybrid'
          : 'element-symmetric';
  const packed: ShaderPart = outliers?.kind === 'top' ? 'element-top' : 'element-plain';
  return [...fields, ...pieces(['element-canonical', value, 'element-groups', packed, 'element'])];
}
