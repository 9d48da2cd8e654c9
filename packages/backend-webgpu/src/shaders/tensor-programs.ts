/**
 * The kernels that append runs on one tensor: copies, window writes, and the residual kernel in its parts.
 */
import type { QuantizedTensorScheme, TensorPlan, Transform } from '@lowbit-kv/core';
import type { CodeOrder } from './code-order.js';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { functionText, type Program, program } from './programs.js';
import { tensorConstants } from './tensor-constants.js';

export interface TensorPrograms {
  readonly write: Program;
  readonly copy: Program;
  readonly pack: PackPrograms | null;
}

export interface PackPrograms {
  readonly gather: Program;
  readonly parameters: Program;
  readonly codes: Program;
  /** For each transform that is measured: its rows, and its statistic. */
  readonly statistics: readonly { readonly gather: Program; readonly measure: Program }[];
}

export function tensorPrograms(plan: TensorPlan, order: CodeOrder): TensorPrograms {
  const constants = tensorConstants(plan, order, 'tensor_');
  return {
    write: program('write', composeShader(constants, ['job', 'write']), ['read', 'write']),
    copy: program('copyPages', composeShader({}, ['job', 'copy']), ['write']),
    pack: plan.scheme.bits === 16 ? null : packPrograms(plan.scheme, order, constants),
  };
}

function packPrograms(
  scheme: QuantizedTensorScheme,
  order: CodeOrder,
  constants: Constants,
): PackPrograms {
  const transforms = scheme.transforms ?? [];
  const pack = composeShader(constants, [
    'job',
    'numbers',
    'pack',
    order === 'reduction' ? 'pack-reduction' : 'pack-canonical',
    'tree',
    'quantize',
    ...quantizerPieces(scheme),
  ]);
  const statistics = transforms.flatMap((transform, i) => {
    if (!('statisticsTokens' in transform)) return [];
    const gather = gatherProgram(transforms.slice(0, i), constants);
    return [{ gather, measure: measureProgram(transform, constants) }];
  });
  return {
    gather: gatherProgram(transforms, constants),
    parameters: program('packParameters', pack, ['read', 'write']),
    codes: program('packCodes', pack, ['read', 'write']),
    statistics,
  };
}

function gatherProgram(transforms: readonly Transform[], constants: Constants): Program {
  let plane = 0;
  const steps = transforms.map((transform) => {
    if (transform.kind === 'hadamard') return 'rotateRow(lane);';
    const step = transform.kind === 'channelMean' ? 'centreRow' : 'scaleRow';
    return `${step}(head, page, ${plane++}u, lane);`;
  });
  const text = functionText('transformRow(head: u32, page: u32, lane: u32)', steps);
  const code = composeShader(constants, ['job', 'numbers', 'gather', { text }]);
  return program('gather', code, ['read', 'read', 'write']);
}

function measureProgram(
  transform: Extract<Transform, { readonly statisticsTokens: number }>,
  constants: Constants,
): Program {
  const own: Record<string, Constants[string]> = {};
  let part: ShaderPart = 'statistics-mean';
  if (transform.kind === 'channelMean') {
    own.STATISTICS_SHARE = { f32: 1 / transform.statisticsTokens };
  } else if (transform.kind === 'channelScale') {
    part = 'statistics-scale';
    own.CLAMP_LOW_SQUARE = { f32: transform.clamp[0] ** 2 };
    own.CLAMP_HIGH_SQUARE = { f32: transform.clamp[1] ** 2 };
    own.MINIMUM_SPREAD = { f32: transform.minimumSpread };
  }
  const pieces: Piece[] = ['job', 'numbers', 'tree', 'statistics', part];
  return program('measure', composeShader({ ...constants, ...own }, pieces), ['read', 'write']);
}

function quantizerPieces({ quantizer }: QuantizedTensorScheme): Piece[] {
  const { mode, codes } = quantizer;
  const functions = (parameters: string, code: string): Piece => ({
    text: [
      'const GROUP_SIZE = tensor_groupSize;',
      `fn parametersOf(group: Group) -> Parameters { return ${parameters}; }`,
      `fn codeOf(value: f32, parameters: Parameters) -> u32 { return ${code}; }`,
      '',
    ].join('\n'),
  });
  const calls = (name: string, argument: string) =>
    functions(
      `${name}Parameters(group, ${argument})`,
      `${name}Code(value, parameters, ${argument})`,
    );
  if (mode === 'asymmetric') return [calls('asymmetric', 'tensor_codeMask')];
  if (typeof codes === 'object')
    return ['level-table', functions('levelParameters(group)', 'levelCode(value, parameters)')];
  const set = `${['signmag', 'full', 'fullSigned'].indexOf(codes)}u`;
  return [calls(mode === 'hybrid' ? 'hybrid' : 'symmetric', set)];
}
