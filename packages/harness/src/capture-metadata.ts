/** The metadata of a capture: what it must say, and that what it says agrees with the tensors. */
import { captureError } from './capture-error.js';
import type { CaptureIndex } from './capture-index.js';
import type { SafetensorsFile } from './safetensors.js';

export const CAPTURE_FORMAT = 'lowbit-kv-capture';
export const CAPTURE_VERSION = '1';

/** Checks every known field; returns the attention scale. Throws CAPTURE_INVALID. */
export function checkCaptureMetadata(file: SafetensorsFile, index: CaptureIndex): number {
  requireText(file, 'format', CAPTURE_FORMAT);
  requireText(file, 'version', CAPTURE_VERSION);
  checkCounts(file, index);
  checkLayers(file, index.layers);
  checkPositions(file, index.shape.tokens);
  return readScale(file);
}

function refuse(file: SafetensorsFile, field: string, reason: string, valid: string) {
  const value = file.metadata.get(field);
  return captureError(file.file, {
    reason: `the metadata ${JSON.stringify(field)} ${value === undefined ? 'is missing' : reason}`,
    ...(value === undefined ? {} : { value }),
    valid,
  });
}

function requireText(file: SafetensorsFile, field: string, text: string): void {
  if (file.metadata.get(field) !== text) {
    throw refuse(file, field, 'is not what this reader knows', JSON.stringify(text));
  }
}

function readScale(file: SafetensorsFile): number {
  const text = file.metadata.get('scale') ?? '';
  const scale = /^[0-9.]+(e[+-]?[0-9]+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(scale) || scale <= 0) {
    throw refuse(
      file,
      'scale',
      'is not a positive number',
      'the factor of q.k before the softmax, in decimal (often 1 / sqrt(headDim))',
    );
  }
  return scale;
}

function checkCounts(file: SafetensorsFile, { shape }: CaptureIndex): void {
  const facts: readonly (readonly [field: string, actual: number])[] = [
    ['query_heads', shape.queryHeads],
    ['kv_heads', shape.kvHeads],
    ['head_dim', shape.keyHeadDim],
    ['key_head_dim', shape.keyHeadDim],
    ['value_head_dim', shape.valueHeadDim],
    ['tokens', shape.tokens],
    ['query_tokens', shape.queries],
  ];
  for (const [field, actual] of facts) {
    const text = file.metadata.get(field);
    if (text !== undefined && text !== String(actual)) {
      throw refuse(file, field, 'disagrees with the tensors', `"${actual}", or no such field`);
    }
  }
  if (shape.valueHeadDim !== shape.keyHeadDim && file.metadata.has('head_dim')) {
    throw refuse(
      file,
      'head_dim',
      'is ambiguous: keys and values differ in it',
      'key_head_dim and value_head_dim instead',
    );
  }
}

function checkLayers(file: SafetensorsFile, layers: readonly number[]): void {
  const text = file.metadata.get('layers');
  if (text === undefined || text.replaceAll(/\s/g, '') === JSON.stringify(layers)) return;
  throw refuse(file, 'layers', 'disagrees with the tensors', `"[${layers.join(', ')}]"`);
}

function checkPositions(file: SafetensorsFile, tokens: number): void {
  const text = file.metadata.get('positions');
  if (text === undefined) return;
  const [, first, last] = /^([0-9]{1,15})\.\.([0-9]{1,15})$/.exec(text) ?? [];
  if (first === undefined || Number(last) - Number(first) + 1 !== tokens) {
    throw refuse(
      file,
      'positions',
      'disagrees with the tensors',
      `"FIRST..LAST", ${tokens} in all`,
    );
  }
}
