/**
 * The shaders of a plan: which parts make up which kernel, and what each binds.
 */
import type { LayerPlan, QuantizedTensorScheme, TensorPlan, Transform } from '@lowbit-kv/core';
import { type Constants, composeShader, type Piece, type ShaderPart } from './compose.js';
import { tensorConstants } from './tensor-constants.js';

/** One entry point. Bindings after the uniform and the commands, in order. */
export interface Program {
  readonly name: string;
  readonly code: string;
  readonly entryPoint: string;
  readonly bindings: readonly ('read' | 'write')[];
}

/** Kernels of one tensor. */
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

export function tensorPrograms(plan: TensorPlan): TensorPrograms {
  const constants = tensorConstants(plan, 'tensor_');
  return {
    write: program('write', composeShader(constants, ['job', 'write']), ['read', 'write']),
    copy: program('copyPages', composeShader({}, ['job', 'copy']), ['write']),
    pack: plan.scheme.bits === 16 ? null : packPrograms(plan.scheme, constants),
  };
}

function packPrograms(scheme: QuantizedTensorScheme, constants: Constants): PackPrograms {
  const transforms = scheme.transforms ?? [];
  const pack = composeShader(constants, [
    'job',
    'numbers',
    'pack',
    'quantize',
    ...quantizerPieces(scheme),
  ]);
  const statistics = transforms.flatMap((transform, i) => {
    if (!('statisticsTokens' in transform)) return [];
    return [
      {
        gather: gatherProgram(transforms.slice(0, i), constants),
        measure: measureProgram(transform, constants),
      },
    ];
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
  const body = `fn transformRow(head: u32, page: u32, lane: u32) {\n${indent(steps)}}\n`;
  return program('gather', composeShader(constants, ['job', 'numbers', 'gather', { text: body }]), [
    'read',
    'read',
    'write',
  ]);
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
  const code = composeShader({ ...constants, ...own }, [
    'job',
    'numbers',
    'tree',
    'statistics',
    part,
  ]);
  return program('measure', code, ['read', 'write']);
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
  if (mode === 'asymmetric') {
    const largest = 'tensor_codeMask';
    return [
      'tree',
      functions(
        `asymmetricParameters(group, ${largest})`,
        `asymmetricCode(value, parameters, ${largest})`,
      ),
    ];
  }
  if (typeof codes === 'object')
    return [
      'tree',
      'level-table',
      functions('levelParameters(group)', 'levelCode(value, parameters)'),
    ];
  const set = `${['signmag', 'full', 'fullSigned'].indexOf(codes)}u`;
  if (mode === 'hybrid')
    return [
      'tree',
      functions(`hybridParameters(group, ${set})`, `hybridCode(value, parameters, ${set})`),
    ];
  return [
    'tree',
    functions(`symmetricParameters(group, ${set})`, `symmetricCode(value, parameters, ${set})`),
  ];
}

/** Kernels of the attention of one layer. */
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

/** Workgroup memory a device surely has. */
const WORKGROUP_BYTES = 16384;
const TILE = 64;
const LARGEST_ROWS = 8;

export function attentionPrograms(layer: LayerPlan): AttentionPrograms {
  const { key, value, geometry } = layer;
  const keyTransforms = transformsOf(key);
  const valueTransforms = transformsOf(value);
  const queryWords = keyTransforms.length === 0 ? key.headDim : 2 * key.headDim + 1;
  const partialWords = 3 + value.headDim * (valueTransforms.length === 0 ? 1 : 2);
  const room = Math.floor(WORKGROUP_BYTES / (4 * (queryWords + TILE + 4)));
  const rows = Math.max(1, Math.min(LARGEST_ROWS, room));
  const constants: Constants = {
    ...tensorConstants(key, 'key_'),
    ...tensorConstants(value, 'value_'),
    ROWS: rows,
    QUERY_WORDS: queryWords,
    PARTIAL_WORDS: partialWords,
    QUERY_HEADS: geometry.queryHeads,
    GROUP_HEADS: geometry.queryHeads / geometry.kvHeads,
    KEY_TRANSFORMED: keyTransforms.length > 0,
    KEY_MEASURED: keyTransforms.some((transform) => 'statisticsTokens' in transform),
    VALUE_TRANSFORMED: valueTransforms.length > 0,
    NO_STATISTICS: 0xffffffff,
    LOGIT_SCALE: { f32: geometry.scale },
    SOFT_CAP: { f32: geometry.softCap ?? 0 },
    WINDOW_SIZE: geometry.slidingWindow?.size ?? 0,
    WINDOW_SINKS: geometry.slidingWindow?.sinks ?? 0,
  };
  const compose = (pieces: readonly Piece[]) =>
    composeShader(constants, ['job', 'numbers', ...pieces]);
  return {
    query: program(
      'prepareQuery',
      compose(['query', 'query-steps', { text: querySteps(keyTransforms) }]),
      ['read', 'read', 'write'],
    ),
    attend: program(
      'attend',
      compose(['attention', ...elementPieces(key), ...elementPieces(value)]),
      ['read', 'read', 'read', 'read', 'write'],
    ),
    merge: program(
      'merge',
      compose(['merge', 'output-steps', { text: outputSteps(valueTransforms) }]),
      ['read', 'read', 'write', 'write'],
    ),
    rows,
    queryWords,
    partialWords,
  };
}

function elementPieces({ tensor, scheme }: TensorPlan): Piece[] {
  const prefix = `${tensor}_`;
  const pieces = (parts: readonly ShaderPart[]) => parts.map((part): Piece => ({ part, prefix }));
  if (scheme.bits === 16) return pieces(['element-window', 'element']);
  const { mode, codes } = scheme.quantizer;
  const value: ShaderPart =
    mode === 'asymmetric'
      ? 'element-asymmetric'
      : mode === 'hybrid'
        ? 'element-hybrid'
        : typeof codes === 'object'
          ? 'element-levels'
          : 'element-symmetric';
  return pieces(['element-codes', value, 'element-groups', 'element']);
}

function transformsOf({ scheme }: TensorPlan): readonly Transform[] {
  return scheme.bits === 16 ? [] : (scheme.transforms ?? []);
}

function querySteps(transforms: readonly Transform[]): string {
  let plane = 0;
  const steps = transforms.map((transform) => {
    if (transform.kind === 'hadamard') return 'rotateQuery(lane);';
    const step = transform.kind === 'channelMean' ? 'centreQuery' : 'scaleQuery';
    return `${step}(head, page, ${plane++}u, lane);`;
  });
  return `fn transformQuery(head: u32, page: u32, lane: u32) {\n${indent(steps)}}\n`;
}

function outputSteps(transforms: readonly Transform[]): string {
  let plane = 0;
  const steps = transforms.map((transform) => {
    if (transform.kind === 'hadamard') return 'unrotateRow(lane);';
    return transform.kind === 'channelMean'
      ? `uncentreRow(head, page, ${plane++}u, weight, lane);`
      : `unscaleRow(head, page, ${plane++}u, lane);`;
  });
  return `fn invertRow(head: u32, page: u32, weight: f32, lane: u32) {\n${indent(steps.reverse())}}\n`;
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join('');
}

function program(
  entryPoint: string,
  code: string,
  bindings: readonly ('read' | 'write')[],
): Program {
  return { name: entryPoint, code, entryPoint, bindings };
}
