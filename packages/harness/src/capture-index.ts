/** Finds the tensors of a capture and checks names, types and shapes, across layers. */
import { captureError } from './capture-error.js';
import type { SafetensorsFile } from './safetensors.js';

/** What one attention layer leaves in a capture; the last part is optional. */
export const CAPTURE_PARTS = ['key', 'value', 'query', 'key_pre_rope'] as const;
export type CapturePart = (typeof CAPTURE_PARTS)[number];

export const CAPTURE_DTYPES = ['F16', 'BF16', 'F32'] as const;

/** Sizes that every layer of a capture shares. */
export interface CaptureShape {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  /** Positions whose keys and values are in the capture. */
  readonly tokens: number;
  /** The last `queries` of those positions have their query in the capture. */
  readonly queries: number;
}

export interface CaptureIndex {
  /** Layer numbers of the model, ascending. */
  readonly layers: readonly number[];
  readonly shape: CaptureShape;
  readonly hasKeyPreRope: boolean;
}

type Shape4 = readonly [batch: number, heads: number, positions: number, headDim: number];

const TENSOR_NAME = /^layers\.(0|[1-9][0-9]{0,8})\.(key|value|query|key_pre_rope)$/;
const VALID_NAMES = 'layers.N.key, layers.N.value, layers.N.query, layers.N.key_pre_rope';

export function captureTensor(layer: number, part: CapturePart): string {
  return `layers.${layer}.${part}`;
}

/** Throws CAPTURE_INVALID. */
export function indexCapture(file: SafetensorsFile): CaptureIndex {
  const { layers, preRope } = findLayers(file);
  const first = layers[0];
  if (first === undefined) {
    throw captureError(file.file, { reason: 'the file holds no layer', valid: VALID_NAMES });
  }
  const shape = layerShape(file, first);
  for (const layer of layers) {
    checkLayer(file, layer, shape, first);
    if (preRope.has(layer) !== preRope.has(first)) {
      throw captureError(file.file, {
        reason: 'keys before RoPE belong to every layer or to none',
        tensor: captureTensor(layer, 'key_pre_rope'),
        value: [...preRope],
        valid: `none, or the layers ${layers.join(', ')}`,
      });
    }
  }
  return { layers, shape, hasKeyPreRope: preRope.has(first) };
}

function findLayers(file: SafetensorsFile) {
  const found = new Set<number>();
  const preRope = new Set<number>();
  for (const name of file.tensors.keys()) {
    const [, layer, part] = TENSOR_NAME.exec(name) ?? [];
    if (layer === undefined) {
      throw captureError(file.file, {
        reason: 'a capture holds no tensor of this name',
        tensor: name,
        valid: VALID_NAMES,
      });
    }
    found.add(Number(layer));
    if (part === 'key_pre_rope') preRope.add(Number(layer));
  }
  return { layers: [...found].sort((a, b) => a - b), preRope };
}

/** The sizes as one layer has them, checked for sense. */
function layerShape(file: SafetensorsFile, layer: number): CaptureShape {
  const [, kvHeads, tokens, keyHeadDim] = tensorShape(file, captureTensor(layer, 'key'));
  const [, , , valueHeadDim] = tensorShape(file, captureTensor(layer, 'value'));
  const [, queryHeads, queries] = tensorShape(file, captureTensor(layer, 'query'));
  const tensor = captureTensor(layer, 'query');
  if (queryHeads % kvHeads !== 0) {
    throw captureError(file.file, {
      reason: `${queryHeads} query heads cannot share ${kvHeads} kv heads evenly`,
      tensor,
      value: queryHeads,
      valid: `a multiple of ${kvHeads}`,
    });
  }
  if (queries > tokens) {
    throw captureError(file.file, {
      reason: 'more queries than tokens: queries are those of the last positions',
      tensor,
      value: queries,
      valid: `1 to ${tokens}`,
    });
  }
  return { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries };
}

function checkLayer(
  file: SafetensorsFile,
  layer: number,
  shape: CaptureShape,
  first: number,
): void {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries } = shape;
  const expected: Record<CapturePart, Shape4> = {
    key: [1, kvHeads, tokens, keyHeadDim],
    value: [1, kvHeads, tokens, valueHeadDim],
    query: [1, queryHeads, queries, keyHeadDim],
    key_pre_rope: [1, kvHeads, tokens, keyHeadDim],
  };
  for (const part of CAPTURE_PARTS) {
    const tensor = captureTensor(layer, part);
    if (part === 'key_pre_rope' && !file.tensors.has(tensor)) continue;
    const found = tensorShape(file, tensor);
    if (found.every((size, axis) => size === expected[part][axis])) continue;
    throw captureError(file.file, {
      reason:
        layer === first
          ? `the shape does not fit ${captureTensor(layer, 'key')}`
          : `the shape differs from layer ${first}: one capture holds layers of one geometry`,
      tensor,
      value: found,
      valid: `[${expected[part].join(', ')}]`,
    });
  }
}

/** The shape of a tensor that must be there, in a type that captures use, [1, heads, positions, dim]. */
function tensorShape(file: SafetensorsFile, tensor: string): Shape4 {
  const info = file.tensors.get(tensor);
  if (info === undefined) {
    throw captureError(file.file, {
      reason: 'the capture lacks this tensor',
      tensor,
      valid: 'key, value and query of every layer in the file',
    });
  }
  if (!(CAPTURE_DTYPES as readonly string[]).includes(info.dtype)) {
    throw captureError(file.file, {
      reason: 'captures do not hold this dtype',
      tensor,
      value: info.dtype,
      valid: CAPTURE_DTYPES,
      next: 'Convert the tensor to one of them when writing the capture.',
    });
  }
  const { shape } = info;
  const valid = '[1, heads, positions, headDim], every size at least 1';
  if (shape.length !== 4) {
    throw captureError(file.file, { reason: 'wrong rank', tensor, value: shape, valid });
  }
  if (shape[0] !== 1) {
    throw captureError(file.file, {
      reason: 'a capture holds one sequence: batch must be 1',
      tensor,
      value: shape,
      valid,
      next: 'Write one capture per sequence.',
    });
  }
  if (shape.includes(0)) {
    throw captureError(file.file, { reason: 'an empty tensor', tensor, value: shape, valid });
  }
  return shape as Shape4;
}
