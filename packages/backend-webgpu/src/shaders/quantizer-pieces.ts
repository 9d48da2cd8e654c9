/**
 * The quantizer of a tensor as WGSL: `parametersOf(group)` and `codeOf(value, parameters)`. docs/law.md 2 to 5.
 */
import type { ParameterType, QuantizedTensorScheme } from '@lowbit-kv/core';
import type { Piece } from './compose.js';

const VALUE: Readonly<Record<ParameterType, string>> = {
  f16: 'f16Value(bits)',
  f32: 'floatValue(bits)',
  e4m3: 'e4m3Value(bits)',
  e8m0: 'e8m0Value(bits)',
};

const STORED_SCALE: Readonly<Record<ParameterType, string>> = {
  f16: 'scaleBits(exactly(extent * step))',
  f32: 'floatScaleBits(extent, exactly(extent * step))',
  e4m3: 'e4m3ScaleBits(extent, exactly(extent * step))',
  e8m0: 'powerScaleBits(extent, tensor_topExponent)',
};

const STORED_ROOT: Readonly<Record<ParameterType, string>> = {
  f16: 'halfRootBits(square)',
  f32: 'floatRootBits(square)',
  e4m3: 'e4m3RootBits(square)',
  e8m0: 'powerRootBits(square)',
};

/** `${prefix}scaleValue(bits)` and `${prefix}zeroValue(bits)`. */
export function parameterText({ parameters }: QuantizedTensorScheme, prefix = ''): Piece {
  const { scale = 'f16', zero = 'f16' } = parameters;
  const text = [
    oneLine(`${prefix}scaleValue(bits: u32) -> f32`, VALUE[scale]),
    oneLine(`${prefix}zeroValue(bits: u32) -> f32`, VALUE[zero]),
  ];
  return { text: text.join('') };
}

/** `rangeBetween`, `parametersAround` and what they store by. */
export function groupParameterPieces(scheme: QuantizedTensorScheme): Piece[] {
  const { scale = 'f16', zero = 'f16' } = scheme.parameters;
  const stored = [
    oneLine('storeScale(extent: f32, step: f32) -> u32', STORED_SCALE[scale]),
    oneLine(
      'storeZero(value: f32) -> u32',
      `${zero === 'f32' ? 'floatOffsetBits' : 'offsetBits'}(value)`,
    ),
  ].join('');
  return ['group-parameters', parameterText(scheme), { text: stored }];
}

export function quantizerPieces(scheme: QuantizedTensorScheme): Piece[] {
  const { quantizer, parameters } = scheme;
  const { scale = 'f16' } = parameters;
  const nearest = scale === 'f32' ? 'nearestCodeOfFloat' : 'nearestCodeOfHalf';
  const nearestText = [
    'const GROUP_SIZE = tensor_groupSize;\n',
    oneLine(
      'nearestCode(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32',
      `${nearest}(difference, scale, lowest, highest)`,
    ),
  ].join('');
  const common: Piece[] = ['group', ...groupParameterPieces(scheme), { text: nearestText }];
  const { mode, codes } = quantizer;
  if (typeof codes === 'object') {
    if (mode === 'asymmetric')
      return [
        ...common,
        'quantize-range',
        'quantize-levels',
        calls('rangeParameters(group)', {
          value: 'exactly(value - zeroValue(parameters.zero))',
          scale: 'scaleValue(parameters.scale)',
        }),
      ];
    if (codes.scaledBy === 'none')
      return [
        ...common,
        'quantize-levels',
        calls('Parameters()', { value: 'value', scale: '1.0' }),
      ];
    const levels = { value: 'value', scale: 'scaleValue(parameters.scale)' };
    if (codes.scaledBy === 'absoluteMaximum')
      return [
        ...common,
        'quantize-extent',
        'quantize-levels',
        calls('extentParameters(group)', levels),
      ];
    const root = oneLine('storeRoot(square: f32) -> u32', STORED_ROOT[scale]);
    return [
      ...common,
      'tree',
      'roots',
      { text: root },
      'quantize-roots',
      'quantize-levels',
      calls('rootParameters(group)', levels),
    ];
  }
  if (mode === 'asymmetric')
    return [
      ...common,
      'quantize-range',
      functions('rangeParameters(group)', 'uniformCode(value, parameters)'),
    ];
  if (mode === 'symmetric')
    return [
      ...common,
      'quantize-symmetric',
      functions('symmetricParameters(group)', 'symmetricCode(value, parameters)'),
    ];
  return [
    ...common,
    'tree',
    'quantize-range',
    'quantize-symmetric',
    'quantize-hybrid',
    functions('hybridParameters(group)', 'hybridCode(value, parameters)'),
  ];
}

function calls(
  parameters: string,
  code: { readonly value: string; readonly scale: string },
): Piece {
  return functions(parameters, `levelCode(${code.value}, ${code.scale})`);
}

function functions(parameters: string, code: string): Piece {
  const text = [
    oneLine('parametersOf(group: Group) -> Parameters', parameters),
    oneLine('codeOf(value: f32, parameters: Parameters) -> u32', code),
  ];
  return { text: text.join('') };
}

function oneLine(signature: string, result: string): string {
  return `fn ${signature} { return ${result}; }\n`;
}
