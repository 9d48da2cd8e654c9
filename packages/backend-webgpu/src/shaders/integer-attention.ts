/**
 * The attention kernel that meets codes in integers: its parts, its workgroup memory, and how words of a page are met.
 */
import type { LayerPlan, TensorPlan } from '@lowbit-kv/core';
import { hasLines } from './code-order.js';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { BAND_SETS, bandConstants, bandPieces, tensorBandPieces } from './integer-bands.js';
import { functionText } from './programs.js';
import type { ShaderOptions } from './shader-options.js';

/** Workgroup memory of one processor on the GPUs that this was measured on. */
const PROCESSOR_BYTES = 49152;
/** Vectors of a set of parts: one for each lane, and one more. */
const SET_VECTORS = 33;
/** Sets that a query as f32 takes. */
const QUERY_SETS = 4;
/** Tokens of a page. */
const PAGE_TOKENS = 128;

/** One sequence is faster in so many workgroups than in more, whose partial results are merged. */
export const INTEGER_WORKGROUPS = 2048;

const FIELDS: Readonly<Record<number, ShaderPart>> = {
  2: 'integer-fields-2',
  3: 'integer-fields-3',
  4: 'integer-fields-4',
  8: 'integer-fields-8',
};

/** How the words of a page are met. */
interface Style {
  /** Without a loop. */
  readonly unrolled: boolean;
  /** Vectors of words that are loaded at once; more is more text to compile. */
  readonly batch: number;
  /** Workgroups of a processor that memory leaves room for: as many as have registers. */
  readonly workgroups: number;
}

/** Of a loop that is no style of its own. */
const ROLLED_BATCH = 2;
const PLAIN_STYLE: Style = { unrolled: false, batch: 2, workgroups: 16 };

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
  const style = subgroupsOf32 ? styleOf(shape, key, value) : PLAIN_STYLE;
  const hasBands = hasLines(key) || hasLines(value);
  const places = memory(shape, outerKeys, innerValues, hasBands ? BAND_SETS : 0, style);
  const keyPieces = (): Piece[] => [
    ...(outerKeys
      ? (['integer-keys-outer'] as const)
      : (['integer-query-once', 'integer-keys-inner'] as const)),
    { text: runText(key, outerKeys ? null : shape.KEY_GROUPS, style) },
  ];
  const valuePieces = (): Piece[] => [
    innerValues ? 'integer-values-inner' : 'integer-values-outer',
    { text: runText(value, innerValues ? shape.VALUE_GROUPS : null, style) },
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
      'integer-pages',
      'integer-rest',
      'integer-parts',
      subgroupsOf32 ? 'lanes-subgroup' : 'lanes-workgroup',
      subgroupsOf32 ? 'raise-subgroup' : 'raise-workgroup',
      { part: fieldsPart(key), prefix: 'key_' },
      { part: 'integer-codes', prefix: 'key_' },
      { part: fieldsPart(value), prefix: 'value_' },
      { part: 'integer-codes', prefix: 'value_' },
      ...bandPieces(key, value),
      ...(hasLines(key) ? tensorBandPieces(key, style.batch) : keyPieces()),
      ...(hasLines(value) ? tensorBandPieces(value, style.batch) : valuePieces()),
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
function memory(
  shape: Shape,
  outerKeys: boolean,
  innerValues: boolean,
  bandSets: number,
  { workgroups }: Style,
) {
  const spareSet = outerKeys ? 0 : shape.PARTS * shape.KEY_SETS;
  const sets = shape.PARTS * Math.max(outerKeys ? shape.KEY_SETS : 0, shape.VALUE_SETS);
  const needed = SET_VECTORS * (spareSet + Math.max(QUERY_SETS, sets, bandSets));
  // Query places and maximum; steps, totals and what is added.
  const others =
    2 +
    (outerKeys ? 1 + 2 * shape.KEY_SETS : 1 + shape.KEY_GROUPS) +
    (innerValues ? shape.VALUE_GROUPS : 1);
  const filled = PROCESSOR_BYTES / workgroups / 16 - others;
  return {
    key_firstSet: 0,
    value_firstSet: spareSet,
    SPARE_SET: spareSet,
    PART_VECTORS: Math.max(needed, Math.floor(filled)),
  };
}

/**
 * What was fastest on the GPU of benchmarks/results: straight code lets drivers load ahead, but takes more registers, and
 * all of it has to be fetched.
 */
function styleOf(
  { PARTS, KEY_SETS, VALUE_SETS }: Shape,
  key: TensorPlan,
  value: TensorPlan,
): Style {
  const bits = Math.max(key.layout?.bits ?? 0, value.layout?.bits ?? 0);
  const [rolled, straight] = [
    { ...PLAIN_STYLE, batch: 4 },
    { ...PLAIN_STYLE, batch: 4, unrolled: true },
  ];
  if (bits === 8) return rolled;
  if (!isAlongTokens(key) && isAlongTokens(value))
    return { ...straight, workgroups: PARTS === 1 ? 16 : 12 };
  const sets = Math.max(KEY_SETS, VALUE_SETS);
  if (bits === 3) return straight;
  if (PARTS === 2) return bits === 2 || sets > 1 ? straight : rolled;
  if (bits === 2) return sets > 1 ? rolled : straight;
  return { ...rolled, batch: 8 };
}

/**
 * Meets all words of a page; `groups`: along the reduction, whose sums are taken one after the other. Where few pages are met,
 * a loop: straight code would have to be fetched for each.
 */
function runText(plan: TensorPlan, groups: number | null, style: Style): string {
  const { tensor } = plan;
  const loop = loopLines(plan, groups, { ...style, batch: Math.min(style.batch, ROLLED_BATCH) });
  const lines = [
    `var sums = ${tensor}_zeroSums();`,
    ...(style.unrolled
      ? ['if (inPages) {', ...straightLines(plan, groups, style), '} else {', ...loop, '}']
      : loopLines(plan, groups, style)),
  ];
  const places = 'page: u32, own: u32, lane: u32, inPages: bool';
  if (groups === null)
    return functionText(`${tensor}_run(${places}) -> Rows`, [
      ...lines,
      `return ${tensor}_numbers(sums);`,
    ]);
  const run = tensor === 'key' ? 'KeyRun' : 'ValueRun';
  return functionText(`${tensor}_run(run: ptr<function, ${run}>, ${places})`, lines);
}

function straightLines(plan: TensorPlan, groups: number | null, style: Style): string[] {
  const trip = tripOf(plan, groups, style);
  return Array.from({ length: trip.count }, (_, i) => [
    '{',
    ...trip.loads(`${i * trip.vectors}u`),
    ...trip.meets(`${i * trip.quads}u`),
    ...(groups !== null && (i + 1) % trip.perGroup === 0
      ? trip.closes(`${Math.floor(i / trip.perGroup)}u`)
      : []),
    '}',
  ]).flat();
}

function loopLines(plan: TensorPlan, groups: number | null, style: Style): string[] {
  const { count, vectors, quads, perGroup, loads, meets, closes } = tripOf(plan, groups, style);
  return [
    // The end is no constant: compilers would unroll the loop.
    `for (var i = 0u; i < ${count}u + job.zero; i += 1u) {`,
    `let first = i * ${vectors}u;`,
    ...loads('first'),
    `let at = i * ${quads}u;`,
    ...meets('at'),
    ...(groups === null
      ? []
      : [`if (i % ${perGroup}u == ${perGroup - 1}u) {`, ...closes(`i / ${perGroup}u`), '}']),
    '}',
  ];
}

/** One of `count` trips over the words of a page: how many vectors and words of the reduction it meets, and its text. */
function tripOf({ tensor, layout }: TensorPlan, groups: number | null, { batch }: Style) {
  const bits = layout?.bits ?? 0;
  const pageVectors = 4 * bits;
  // Three vectors of 3-bit codes hold a fourth.
  const vectors = bits === 3 ? 3 : Math.min(batch, pageVectors / (groups ?? 1));
  const count = pageVectors / vectors;
  const numbers = Array.from({ length: vectors }, (_, j) => j);
  const meet = (words: string, first: string, quad: number) =>
    `${tensor}_meet(&sums, ${words}, ${first} + ${quad}u, own);`;
  return {
    count,
    vectors,
    quads: PAGE_TOKENS / 4 / count,
    perGroup: count / (groups ?? 1),
    loads: (first: string) =>
      numbers.map((j) => `let w${j} = ${tensor}_memory[page + (${first} + ${j}u) * LANES + lane];`),
    meets(first: string) {
      if (bits === 3) {
        const spread = `let w3 = ${tensor}_spread(w0, w1, w2);`;
        return [spread, ...[...numbers, 3].map((j) => meet(`w${j}`, first, j))];
      }
      return bits === 8
        ? numbers.filter((j) => j % 2 === 0).map((j) => meet(`w${j}, w${j + 1}`, first, j))
        : numbers.map((j) => meet(`w${j}`, first, (j * 8) / bits));
    },
    closes: (group: string) => [
      `${tensor}_group(run, sums, ${group});`,
      `sums = ${tensor}_zeroSums();`,
    ],
  };
}
