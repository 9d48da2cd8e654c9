/**
 * The attention kernel that meets codes in integers: its parts, its workgroup memory, and how words of a page are met.
 */
import type { LayerPlan, TensorPlan } from '@lowbit-kv/core';
import { hasLines } from './code-order.js';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { BAND_SETS, bandConstants, bandPieces, tensorBandPieces } from './integer-bands.js';
import { functionText } from './programs.js';
import type { ShaderOptions } from './shader-options.js';

/** Workgroup memory of one processor on the GPUs that this was measured on, and workgroups of it that are worth having. */
const PROCESSOR_BYTES = 49152;
const PROCESSOR_WORKGROUPS = 16;
/** Vectors of a set of parts: one for each lane, and one more. */
const SET_VECTORS = 33;
/** Sets that a query as f32 takes. */
const QUERY_SETS = 4;
/** Vectors of words that are loaded at once; more is more text to compile. */
const BATCH = 4;
const SMALL_BATCH = 2;
/** Tokens of a page. */
const PAGE_TOKENS = 128;

/** One sequence is faster in so many workgroups than in more, whose partial results are merged. */
export const INTEGER_WORKGROUPS = 1024;

const FIELDS: Readonly<Record<number, ShaderPart>> = {
  2: 'integer-fields-2',
  3: 'integer-fields-3',
  4: 'integer-fields-4',
  8: 'integer-fields-8',
};

interface Shape {
  readonly PARTS: number;
  readonly KEY_SETS: number;
  readonly KEY_GROUPS: number;
  readonly VALUE_SETS: number;
  readonly VALUE_GROUPS: number;
}

/** `constants`: of the layer, tensors included. */
export function integerAttention(
  { key, value }: LayerPlan,
  constants: Constants,
  { precision, subgroupsOf32 }: ShaderOptions,
): string {
  const shape: Shape = {
    PARTS: precision === 'exact' ? 2 : 1,
    KEY_SETS: constants.key_sets as number,
    KEY_GROUPS: constants.key_groupsPerRow as number,
    VALUE_SETS: constants.value_sets as number,
    VALUE_GROUPS: PAGE_TOKENS / (value.layout?.tokensPerGroup ?? 1),
  };
  const [outerKeys, innerValues] = [isAlongTokens(key), isAlongTokens(value)];
  const unrolled = subgroupsOf32 && unrolls(shape, key, value);
  const most = subgroupsOf32 ? BATCH : SMALL_BATCH;
  const hasBands = hasLines(key) || hasLines(value);
  const places = memory(shape, outerKeys, innerValues, hasBands ? BAND_SETS : 0);
  const keyPieces = (): Piece[] => [
    ...(outerKeys
      ? (['integer-keys-outer'] as const)
      : (['integer-query-once', 'integer-keys-inner'] as const)),
    { text: runText(key, outerKeys ? null : shape.KEY_GROUPS, unrolled, most) },
  ];
  const valuePieces = (): Piece[] => [
    innerValues ? 'integer-values-inner' : 'integer-values-outer',
    { text: runText(value, innerValues ? shape.VALUE_GROUPS : null, unrolled, most) },
  ];
  return composeShader(
    {
      ...constants,
      ...shape,
      ...places,
      ...bandConstants(key, value, places.SPARE_SET),
    },
    [
      'job',
      'attention-work',
      'attention-integer',
      'integer-parts',
      subgroupsOf32 ? 'lanes-subgroup' : 'lanes-workgroup',
      subgroupsOf32 ? 'raise-subgroup' : 'raise-workgroup',
      { part: fieldsPart(key), prefix: 'key_' },
      { part: 'integer-codes', prefix: 'key_' },
      { part: fieldsPart(value), prefix: 'value_' },
      { part: 'integer-codes', prefix: 'value_' },
      ...bandPieces(key, value),
      ...(hasLines(key) ? tensorBandPieces(key, most) : keyPieces()),
      ...(hasLines(value) ? tensorBandPieces(value, most) : valuePieces()),
    ],
    subgroupsOf32 ? ['subgroups'] : [],
    // Whole subgroups take a branch that a vote of theirs decides, which WGSL does not see.
    subgroupsOf32 ? ['off, subgroup_uniformity'] : [],
  );
}

function isAlongTokens({ layout }: TensorPlan): boolean {
  return layout?.codes.rows === 'channels';
}

function fieldsPart({ layout }: TensorPlan): ShaderPart {
  const part = FIELDS[layout?.bits ?? 0];
  if (part === undefined) throw new TypeError(`no fields of ${layout?.bits} bits`);
  return part;
}

/**
 * Parts of keys along channels stay; everything else takes turns. What is not needed is filled up to where a processor still
 * holds as many workgroups as have registers: drivers give each fewer when more would fit. `bandSets`: what outlier bands need.
 */
function memory(shape: Shape, outerKeys: boolean, innerValues: boolean, bandSets: number) {
  const spareSet = outerKeys ? 0 : shape.PARTS * shape.KEY_SETS;
  const sets = shape.PARTS * Math.max(outerKeys ? shape.KEY_SETS : 0, shape.VALUE_SETS);
  const needed = SET_VECTORS * (spareSet + Math.max(QUERY_SETS, sets, bandSets));
  // Query places and maximum; steps, totals and what is added.
  const others =
    2 +
    (outerKeys ? 1 + 2 * shape.KEY_SETS : 1 + shape.KEY_GROUPS) +
    (innerValues ? shape.VALUE_GROUPS : 1);
  const filled = PROCESSOR_BYTES / PROCESSOR_WORKGROUPS / 16 - others;
  return {
    key_firstSet: 0,
    value_firstSet: spareSet,
    SPARE_SET: spareSet,
    PART_VECTORS: Math.max(needed, filled),
  };
}

/**
 * Straight code lets drivers load ahead, and takes more registers: too many with two parts of wide codes, unless several sets
 * leave room for few workgroups anyway. Measured, see benchmarks/results.
 */
function unrolls(
  { PARTS, KEY_SETS, VALUE_SETS }: Shape,
  key: TensorPlan,
  value: TensorPlan,
): boolean {
  const bits = Math.max(key.layout?.bits ?? 0, value.layout?.bits ?? 0);
  return (
    bits === 2 || ([3, 4].includes(bits) && (PARTS === 1 || Math.max(KEY_SETS, VALUE_SETS) > 1))
  );
}

/** Meets all words of a page; `groups`: along the reduction, whose sums are taken one after the other. */
function runText(
  { tensor, layout }: TensorPlan,
  groups: number | null,
  unrolled: boolean,
  most: number,
): string {
  const bits = layout?.bits ?? 0;
  const vectors = 4 * bits;
  // Three vectors of 3-bit codes hold a fourth.
  const batch = bits === 3 ? 3 : Math.min(most, vectors / (groups ?? 1));
  const trips = vectors / batch;
  const quads = PAGE_TOKENS / 4 / trips;
  const perGroup = trips / (groups ?? 1);
  const numbers = Array.from({ length: batch }, (_, j) => j);
  const loads = (first: string) =>
    numbers.map((j) => `let w${j} = ${tensor}_memory[page + (${first} + ${j}u) * LANES + lane];`);
  const meets = (first: string) => {
    const meet = (words: string, quad: number) =>
      `${tensor}_meet(&sums, ${words}, ${first} + ${quad}u, own);`;
    if (bits === 3) {
      const spread = `let w3 = ${tensor}_spread(w0, w1, w2);`;
      return [spread, ...[...numbers, 3].map((j) => meet(`w${j}`, j))];
    }
    return bits === 8
      ? numbers.filter((j) => j % 2 === 0).map((j) => meet(`w${j}, w${j + 1}`, j))
      : numbers.map((j) => meet(`w${j}`, (j * 8) / bits));
  };
  const closes = (group: string) => [
    `${tensor}_group(run, sums, ${group});`,
    `sums = ${tensor}_zeroSums();`,
  ];
  const lines = [`var sums = ${tensor}_zeroSums();`];
  if (unrolled) {
    for (let trip = 0; trip < trips; trip++) {
      const isLast = groups !== null && (trip + 1) % perGroup === 0;
      lines.push(
        '{',
        ...loads(`${trip * batch}u`),
        ...meets(`${trip * quads}u`),
        ...(isLast ? closes(`${Math.floor(trip / perGroup)}u`) : []),
        '}',
      );
    }
  } else {
    lines.push(
      // The end is no constant: compilers would unroll the loop.
      `for (var i = 0u; i < ${trips}u + job.zero; i += 1u) {`,
      `let first = i * ${batch}u;`,
      ...loads('first'),
      `let at = i * ${quads}u;`,
      ...meets('at'),
      ...(groups === null
        ? []
        : [`if (i % ${perGroup}u == ${perGroup - 1}u) {`, ...closes(`i / ${perGroup}u`), '}']),
      '}',
    );
  }
  const places = 'page: u32, own: u32, lane: u32';
  if (groups === null)
    return functionText(`${tensor}_run(${places}) -> Rows`, [
      ...lines,
      `return ${tensor}_numbers(sums);`,
    ]);
  const run = tensor === 'key' ? 'KeyRun' : 'ValueRun';
  return functionText(`${tensor}_run(run: ptr<function, ${run}>, ${places})`, lines);
}
