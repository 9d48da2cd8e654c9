/**
 * The kernels of attention over one layer: queries, the packing kernel, merge.
 */
import type { LayerPlan, TensorPlan } from '@lowbit-kv/core';
import { type CodeOrder, codeOrder } from './code-order.js';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { functionText, type Program, program } from './programs.js';
import { parameterText } from './quantizer-pieces.js';
import { tensorConstants } from './tensor-constants.js';
import { type TensorNumbers, transformsOf } from './tensor-numbers.js';
import { outputPieces, queryPieces } from './transform-steps.js';

/** How attention meets codes: integers of 15 bits (error below 1e-3), or of 8 bits. */
export type Precision = 'exact' | 'fast';

/** What of a device decides which shader runs. */
export interface ShaderOptions {
  readonly precision: Precision;
  /** Workgroups of 32 are one subgroup. */
  readonly subgroupsOf32: boolean;
  /** dot4I8Packed and its packing functions. */
  readonly integerDots: boolean;
}

export interface AttentionPrograms {
  readonly query: Program;
  readonly attend: Program;
  readonly merge: Program;
  /** Query rows of one workgroup. */
  readonly rows: number;
  /** f32 words of one query in the query buffer. */
  readonly queryWords: number;
  readonly partialWords: number;
}

/** Query rows of a workgroup. */
const ROWS = 4;
/** Workgroup memory a device surely has, and what the general attention needs beside queries. */
const WORKGROUP_BYTES = 16384;
const TILE_BYTES = 16 * 2 * 64;
/** Elements of a reduction: channels of a head, tokens of a page. */
const REDUCED = 128;
/** Loads that are on their way at once. */
const BATCH = 8;

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
  const keyTransforms = transformsOf(key);
  const valueTransforms = transformsOf(value);
  const queryWords = queryWordsOf(key);
  const partialWords = 3 + value.headDim * (valueTransforms.length === 0 ? 1 : 2);
  const constants: Constants = {
    ...tensorConstants(key, numbers.key, order, 'key_'),
    ...tensorConstants(value, numbers.value, order, 'value_'),
    MERGE_SIZE: value.headDim <= 64 ? 64 : 128,
    QUERY_WORDS: queryWords,
    PARTIAL_WORDS: partialWords,
    QUERY_HEADS: geometry.queryHeads,
    GROUP_HEADS: groupHeads,
    KV_HEADS: geometry.kvHeads,
    KEY_TRANSFORMED: keyTransforms.length > 0,
    KEY_MEASURED: keyTransforms.some((transform) => 'statisticsTokens' in transform),
    VALUE_TRANSFORMED: valueTransforms.length > 0,
    VALUE_MEASURED: valueTransforms.some((transform) => 'statisticsTokens' in transform),
    NO_STATISTICS: 0xffffffff,
    LOGIT_SCALE: { f32: geometry.scale },
    SOFT_CAP: { f32: geometry.softCap ?? 0 },
    WINDOW_SIZE: geometry.slidingWindow?.size ?? 0,
    WINDOW_SINKS: geometry.slidingWindow?.sinks ?? 0,
  };
  const compose = (channels: number, pieces: readonly Piece[]) =>
    composeShader({ ...constants, ROW_CHANNELS: channels }, ['job', 'numbers', ...pieces]);
  const attend =
    order === 'reduction'
      ? integerAttention(layer, constants, options)
      : composeShader({ ...constants, ROWS }, [
          'job',
          'numbers',
          'parameters',
          'attention',
          ...elementPieces(key),
          ...elementPieces(value),
        ]);
  return {
    query: program(
      'prepareQuery',
      compose(key.headDim, ['query', ...queryPieces(key, numbers.key)]),
      ['read', 'read', 'write'],
    ),
    attend: program('attend', attend, ['read', 'read', 'read', 'read', 'write']),
    merge: program(
      'merge',
      compose(value.headDim, ['merge', ...outputPieces(value, numbers.value)]),
      ['read', 'read', 'write', 'write'],
    ),
    rows: ROWS,
    queryWords,
    partialWords,
  };
}

/** f32 words of one query: as it came, as it meets packed keys, and what is added. */
function queryWordsOf(key: TensorPlan): number {
  return transformsOf(key).length === 0 ? key.headDim : 2 * key.headDim + 1;
}

/** Whether the queries of a workgroup fit into its memory. */
export function queriesFit(key: TensorPlan): boolean {
  return 4 * ROWS * queryWordsOf(key) + TILE_BYTES <= WORKGROUP_BYTES;
}

function integerAttention(
  { key, value }: LayerPlan,
  constants: Constants,
  { precision, subgroupsOf32 }: ShaderOptions,
): string {
  const own = {
    PARTS: precision === 'exact' ? 2 : 1,
    KEY_SETS: constants.key_sets as number,
    KEY_GROUPS: constants.key_groupsPerRow as number,
    VALUE_SETS: constants.value_sets as number,
    VALUE_GROUPS: 128 / (value.layout?.tokensPerGroup ?? 1),
  };
  const alongTokens = ({ layout }: TensorPlan) => layout?.codes.rows === 'channels';
  return composeShader(
    { ...constants, ...own },
    [
      'job',
      'attention-integer',
      'integer-parts',
      subgroupsOf32 ? 'lanes-subgroup' : 'lanes-workgroup',
      { part: 'integer-codes', prefix: 'key_' },
      { part: 'integer-codes', prefix: 'value_' },
      alongTokens(key) ? 'integer-keys-outer' : 'integer-keys-inner',
      alongTokens(value) ? 'integer-values-inner' : 'integer-values-outer',
      { text: runText('key', key, alongTokens(key) ? 1 : own.KEY_GROUPS) },
      { text: runText('value', value, alongTokens(value) ? own.VALUE_GROUPS : 1) },
    ],
    subgroupsOf32 ? ['subgroups'] : [],
  );
}

/**
 * Meets all words of a page, group by group, eight loads ahead. Written out, because a loop would wait for each load.
 */
function runText(tensor: 'key' | 'value', { layout }: TensorPlan, groups: number): string {
  const bits = layout?.bits ?? 0;
  const words = REDUCED / (32 / bits);
  const lines = ['var sums = zeroSums();'];
  for (let j = 0; j < words; j++) {
    const batch = Math.floor(j / BATCH);
    if (j % BATCH === 0 && j + BATCH < words)
      lines.push(`let words${batch + 1} = ${tensor}_load(page, ${batch + 1}u, lane);`);
    for (let field = 0; field < 8 / bits; field++)
      lines.push(`${tensor}_meet(&sums, words${batch}.w${j % BATCH}, ${j}u, ${field}u, own);`);
    const perGroup = words / groups;
    if ((j + 1) % perGroup !== 0) continue;
    lines.push(`${tensor}_group(run, sums, ${(j + 1) / perGroup - 1}u);`);
    if (j + 1 < words) lines.push('sums = zeroSums();');
  }
  const run = tensor === 'key' ? 'KeyRun' : 'ValueRun';
  const signature = `${tensor}_run(run: ptr<function, ${run}>, page: u32, words0: ${tensor}_Words, own: u32, lane: u32)`;
  return functionText(signature, lines);
}

function elementPieces({ tensor, scheme }: TensorPlan): Piece[] {
  const prefix = `${tensor}_`;
  const pieces = (parts: readonly ShaderPart[]) => parts.map((part): Piece => ({ part, prefix }));
  if (scheme.bits === 16) return pieces(['element-window', 'element']);
  const { mode, codes } = scheme.quantizer;
  const value: ShaderPart =
    typeof codes === 'object'
      ? 'element-levels'
      : mode === 'asymmetric'
        ? 'element-asymmetric'
        : mode === 'hybrid'
          ? 'element-hybrid'
          : 'element-symmetric';
  return [
    parameterText(scheme, prefix),
    ...pieces(['element-parameters', 'element-canonical', value, 'element-groups', 'element']),
  ];
}
