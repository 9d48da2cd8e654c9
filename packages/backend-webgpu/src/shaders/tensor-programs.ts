/**
 * The kernels that append runs on one tensor: copies, window writes, and the residual kernel in its parts.
 */
import {
  isMeasured,
  type QuantizedTensorScheme,
  type TensorPlan,
  type Transform,
} from '@lowbit-kv/core';
import type { CodeOrder } from './code-order.js';
import { codecText } from './codec-text.js';
import { type Constants, composeShader, type Piece } from './compose.js';
import { type TileShape, tileConstants, tilePieces, tileShape } from './pack-tile.js';
import { type Program, program } from './programs.js';
import { groupParameterPieces, quantizerPieces } from './quantizer-pieces.js';
import { tensorConstants } from './tensor-constants.js';
import type { TensorNumbers } from './tensor-numbers.js';
import { packingPieces } from './transform-steps.js';

export interface TensorPrograms {
  readonly write: Program;
  readonly copy: Program;
  readonly pack: PackPrograms | null;
}

export interface PackPrograms {
  /** In one pass, where the plan has tiles. */
  readonly tile: { readonly program: Program; readonly shape: TileShape } | null;
  /** In several, where it has none. */
  readonly rows: RowPrograms | null;
  /** For each transform that is measured: its rows, and its statistic. */
  readonly statistics: readonly { readonly gather: Program; readonly measure: Program }[];
}

export interface RowPrograms {
  readonly gather: Program;
  /** Null where groups store none. */
  readonly parameters: Program | null;
  readonly codes: Program;
  /** Takes top outliers out of the rows, before anything looks at them. */
  readonly top: Program | null;
  /** Sparse bytes of outlier bands. */
  readonly outliers: Program | null;
}

const LINES: readonly Piece[] = ['code-places-reduction', 'pack-lines'];

export function tensorPrograms(
  plan: TensorPlan,
  numbers: TensorNumbers,
  order: CodeOrder,
  shape = tileShape(plan, order),
): TensorPrograms {
  const constants = {
    ...tensorConstants(plan, numbers, order, 'tensor_'),
    ROW_CHANNELS: plan.headDim,
  };
  return {
    write: writeProgram(plan.headDim, constants),
    copy: program('copyPages', composeShader({}, ['job', 'copy']), ['write']),
    pack:
      plan.scheme.bits === 16
        ? null
        : packPrograms(plan, plan.scheme, numbers, order, constants, shape),
  };
}

/** Copies as much at once as rows are multiples of. */
function writeProgram(headDim: number, constants: Constants): Program {
  const [halves, type] = (
    [
      [8, 'vec4<u32>'],
      [4, 'vec2<u32>'],
      [2, 'u32'],
    ] as const
  ).find(([count]) => headDim % count === 0) ?? [2, 'u32'];
  const own = { ...constants, WRITE_HALVES: halves };
  const code = composeShader(own, ['job', { text: `alias Piece = ${type};\n` }, 'write']);
  return program('write', code, ['read', 'write']);
}

function packPrograms(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  numbers: TensorNumbers,
  order: CodeOrder,
  constants: Constants,
  shape: TileShape | null,
): PackPrograms {
  const statistics = (scheme.transforms ?? []).flatMap((transform, i) => {
    if (!isMeasured(transform)) return [];
    const gather = gatherProgram(plan, numbers, constants, i);
    return [{ gather, measure: measureProgram(transform, constants) }];
  });
  if (shape === null)
    return { tile: null, rows: rowPrograms(plan, scheme, numbers, order, constants), statistics };
  const code = composeShader({ ...constants, ...tileConstants(plan, shape, scheme, order) }, [
    'job',
    'numbers',
    'parameters',
    ...groupParameterPieces(scheme),
    ...tilePieces(plan, scheme, numbers, order),
  ]);
  const tile = { program: program('packTile', code, ['read', 'write']), shape };
  return { tile, rows: null, statistics };
}

function gatherProgram(
  plan: TensorPlan,
  numbers: TensorNumbers,
  constants: Constants,
  count?: number,
): Program {
  const code = composeShader(constants, [
    'job',
    'numbers',
    'gather',
    ...packingPieces(plan, numbers, count),
  ]);
  return program('gather', code, ['read', 'read', 'write']);
}

function rowPrograms(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  numbers: TensorNumbers,
  order: CodeOrder,
  constants: Constants,
): RowPrograms {
  const packing = (...pieces: Piece[]) =>
    composeShader(constants, ['job', 'numbers', 'parameters', 'pack', ...pieces]);
  const pack = packing('pack-words', ...codePieces(plan, scheme, order));
  const top = packing('pack-atomic', 'pack-top');
  const lines = order === 'reduction' ? LINES : (['pack-no-lines'] as const);
  const outliers = packing('pack-atomic', 'bands', 'pack-outliers', ...lines);
  return {
    gather: gatherProgram(plan, numbers, constants),
    parameters:
      scheme.parameters.scale === undefined
        ? null
        : program('packParameters', pack, ['read', 'write']),
    codes: program('packCodes', pack, ['read', 'write']),
    top: scheme.outliers?.kind === 'top' ? program('takeOutliers', top, ['write', 'write']) : null,
    outliers:
      scheme.outliers?.kind === 'bands'
        ? program('packOutliers', outliers, ['write', 'write', 'write'])
        : null,
  };
}

/** What writes parameters and codes. */
function codePieces(
  { codec }: TensorPlan,
  scheme: QuantizedTensorScheme,
  order: CodeOrder,
): readonly Piece[] {
  if (codec !== undefined) {
    const text = codecText(codec, 'tensor_codec_', 'wordAt(index)');
    return ['group', 'pack-groups', 'pack-codec', text];
  }
  const codes: readonly Piece[] =
    order === 'reduction' ? ['code-places-reduction', 'pack-reduction'] : ['pack-canonical'];
  if (scheme.outliers?.kind === 'bands') return ['bands', 'pack-bands', ...codes];
  return ['pack-groups', 'pack-parameters', ...codes, ...quantizerPieces(scheme)];
}

function measureProgram(
  transform: Extract<Transform, { readonly statisticsTokens: number }>,
  constants: Constants,
): Program {
  const own: Record<string, Constants[string]> = {};
  const parts: Piece[] = [];
  switch (transform.kind) {
    case 'channelMean':
      parts.push('tree', 'statistics-mean');
      own.MINIMUM_OFFSET = { f32: transform.minimumOffset ?? 0 };
      break;
    case 'channelScale':
      parts.push('statistics-scale');
      own.CLAMP_LOW_SQUARE = { f32: transform.clamp[0] ** 2 };
      own.CLAMP_HIGH_SQUARE = { f32: transform.clamp[1] ** 2 };
      own.MINIMUM_SPREAD = { f32: transform.minimumSpread };
      break;
    case 'tensorScale':
      parts.push('statistics-tensor');
      own.LARGEST = { f32: transform.largest };
  }
  const code = composeShader({ ...constants, ...own }, [
    'job',
    'numbers',
    'parameters',
    'statistics',
    ...parts,
  ]);
  return program('measure', code, ['read', 'write']);
}
