/**
 * The transforms of a tensor as WGSL: what packing does to a row, what attention does to a query, and what undoes them in a
 * sum of values, or in a key. docs/law.md 7.
 */
import { isMeasured, type TensorPlan, type Transform, transformsOf } from '@lowbit-kv/core';
import type { Piece } from './compose.js';
import { functionText } from './programs.js';
import type { CalibratedPlace, TensorNumbers } from './tensor-numbers.js';

/** Lines of one step; `number` gives the number of a channel for packing, or for attention. */
type StepLines = (step: Step) => readonly string[];

interface Step {
  readonly transform: Transform;
  readonly place: CalibratedPlace | null;
  /** WGSL of the number of `channel`: what packing and what attention use. */
  readonly packing: string;
  readonly attention: string;
}

/** Parts and the function `transformRow(head, page, lane)`: the first `count` transforms, all by default. */
export function packingPieces(
  plan: TensorPlan,
  numbers: TensorNumbers,
  count = transformsOf(plan).length,
): Piece[] {
  const lines = stepsOf(plan, numbers, 'tensor_').slice(0, count).flatMap(packingLines);
  return [
    ...rowParts(plan, 'tensor_'),
    { text: functionText('transformRow(head: u32, page: u32, lane: u32)', lines) },
  ];
}

/** Whether a plan only adds to channels and multiplies them: a tile can do that without its neighbours. */
export function transformsChannels(plan: TensorPlan): boolean {
  return transformsOf(plan).every(({ kind }) => kind !== 'hadamard' && kind !== 'channelOrder');
}

/** Parts and the function `transformPatch(values, head, page, channel)` of such a plan, for pack-tile.wgsl. */
export function tilePackingPieces(plan: TensorPlan, numbers: TensorNumbers): Piece[] {
  const lines = stepsOf(plan, numbers, 'tensor_').flatMap(({ transform, packing }) => [
    'for (var q = 0u; q < PATCH_QUADS; q += 1u) {',
    '  var numbers: vec4<f32>;',
    '  for (var i = 0u; i < 4u; i += 1u) {',
    '    let channel = first + 4u * q + i;',
    `    numbers[i] = ${packing};`,
    '  }',
    '  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {',
    '    let value = (*values)[s * PATCH_QUADS + q];',
    `    (*values)[s * PATCH_QUADS + q] = exactlyFour(value ${transform.kind === 'channelMean' ? '-' : '*'} numbers);`,
    '  }',
    '}',
  ]);
  const signature =
    'transformPatch(values: ptr<function, Patch>, head: u32, page: u32, first: u32)';
  return [
    ...(lines.length === 0 ? [] : (['tile-factors'] as const)),
    { text: functionText(signature, lines) },
  ];
}

/** Parts and the function `transformQuery(head, page, lane)`: the first `count` transforms. */
export function queryPieces(plan: TensorPlan, numbers: TensorNumbers, count: number): Piece[] {
  const lines = stepsOf(plan, numbers, 'key_').slice(0, count).flatMap(queryLines);
  const parts: Piece[] = hasKind(plan, 'channelMean') ? ['query-mean'] : [];
  return [
    ...rowParts(plan, 'key_'),
    ...parts,
    { text: functionText('transformQuery(head: u32, page: u32, lane: u32)', lines) },
  ];
}

/** Parts and the function `invertRow(head, page, weight, lane)`, for a sum of elements whose weights add up to `weight`. */
export function inversePieces(plan: TensorPlan, numbers: TensorNumbers): Piece[] {
  const prefix = `${plan.tensor}_`;
  const lines = stepsOf(plan, numbers, prefix).reverse().flatMap(inverseLines);
  return [
    ...rowParts(plan, prefix),
    { text: functionText('invertRow(head: u32, page: u32, weight: f32, lane: u32)', lines) },
  ];
}

function rowParts(plan: TensorPlan, prefix: string): Piece[] {
  const parts: Piece[] = [{ part: 'row', prefix }];
  if (hasKind(plan, 'channelOrder')) parts.push({ part: 'row-order', prefix });
  return parts;
}

function hasKind(plan: TensorPlan, kind: Transform['kind']): boolean {
  return transformsOf(plan).some((transform) => transform.kind === kind);
}

function stepsOf(plan: TensorPlan, numbers: TensorNumbers, prefix: string): Step[] {
  let plane = 0;
  return transformsOf(plan).map((transform, i) => {
    const place = numbers.transforms[i] ?? null;
    if (isMeasured(transform)) {
      const statistic = `${prefix}statistic(page, ${plane++}u, head, channel)`;
      const attention = transform.kind === 'channelMean' ? statistic : `(1.0 / ${statistic})`;
      return { transform, place, packing: statistic, attention };
    }
    const calibrated = (first: number | undefined) =>
      `${prefix}calibrated(${first ?? 0}u, head, channel)`;
    return {
      transform,
      place,
      packing: calibrated(place?.packing),
      attention: calibrated(place?.attention),
    };
  });
}

const packingLines: StepLines = ({ transform, place, packing }) => {
  switch (transform.kind) {
    case 'hadamard':
      return [...signLines(transform.seed), 'rotateRow(lane);'];
    case 'channelOrder':
      return [`orderRow(${place?.packing}u, head, lane);`];
    case 'channelMean':
      return eachChannel(`row_values[channel] = exactly(row_values[channel] - ${packing});`);
    default:
      return eachChannel(`row_values[channel] = exactly(row_values[channel] * ${packing});`);
  }
};

const queryLines: StepLines = ({ transform, place, attention }) => {
  switch (transform.kind) {
    case 'hadamard':
      return [...signLines(transform.seed), 'rotateRow(lane);'];
    case 'channelOrder':
      return [`orderRow(${place?.attention}u, head, lane);`];
    case 'channelMean':
      return [
        '{',
        'var term = 0.0;',
        ...eachChannel(`term += row_values[channel] * ${attention};`),
        'addConstant(term, lane);',
        '}',
      ];
    default:
      return eachChannel(`row_values[channel] *= ${attention};`);
  }
};

const inverseLines: StepLines = ({ transform, place, attention }) => {
  switch (transform.kind) {
    case 'hadamard':
      return ['rotateRow(lane);', ...signLines(transform.seed)];
    case 'channelOrder':
      return [`disorderRow(${place?.attention}u, head, lane);`];
    case 'channelMean':
      return eachChannel(`row_values[channel] += weight * ${attention};`);
    default:
      return eachChannel(`row_values[channel] *= ${attention};`);
  }
};

function signLines(seed: number | undefined): readonly string[] {
  if (seed === undefined) return [];
  return eachChannel(`row_values[channel] *= signOf(${seed}u, channel);`);
}

function eachChannel(line: string): readonly string[] {
  return [
    'for (var channel = lane; channel < ROW_CHANNELS; channel += ROW_SIZE) {',
    `  ${line}`,
    '}',
    'workgroupBarrier();',
  ];
}
