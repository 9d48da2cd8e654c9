/**
 * One token packed by a scheme: what it decodes to and what is stored of it.
 */
import { encodeF16, type Scheme } from '@lowbit-kv/core';
import { expect } from 'vitest';
import { DrivenCache } from '../../../core/test/support/driven-cache.js';

interface Token {
  readonly decoded: number[];
  readonly codes: number[];
  /** Bits of the groups of the token, in order, as their type stores them. */
  readonly scales: number[];
  readonly zeros: number[];
}

/** Packs `token` as the second of three tokens of the second head; everything else is zero. */
export async function pack(scheme: Scheme, token: readonly number[], tensor: 'key' | 'value') {
  const headDim = 64;
  const first = 3 * headDim;
  const data = new Float32Array(3 * 2 * headDim);
  data.set(token, first);
  const bits = encodeF16(data);
  const cache = await DrivenCache.open(scheme, { tokens: 3, kvHeads: 2, headDim, [tensor]: bits });
  await cache.append(3);
  const decoded = (await cache.materialize())[tensor];
  const outside = decoded.filter((_, i) => i < first || i >= first + headDim);
  expect(outside.every((x) => x === 0)).toBe(true);

  const layout = cache.plan.layers[0]![tensor].layout!;
  const [block] = await cache.blocks(tensor);
  const head = block!.bytes.subarray(layout.headBytes, 2 * layout.headBytes);
  const { offset, rowBytes } = layout.codes;
  const row = head.subarray(offset + rowBytes, offset + 2 * rowBytes);
  const groups = headDim / layout.channelsPerGroup;
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const parametersOf = (name: string) => {
    const plane = layout.parameters.find((entry) => entry.name === name);
    if (plane === undefined) return [];
    return Array.from({ length: groups }, (_, i) =>
      plane.type === 'f16'
        ? view.getUint16(plane.offset + 2 * (groups + i), true)
        : view.getUint8(plane.offset + groups + i),
    );
  };
  return {
    decoded: [...decoded.subarray(first, first + headDim)],
    codes: [...row],
    scales: parametersOf('scale'),
    zeros: parametersOf('zero'),
  } satisfies Token;
}

export const both = ['key', 'value'] as const;
/** `values` at the start of 64 channels of `rest`. */
export const channels = (values: readonly number[], rest = 0) =>
  Array.from({ length: 64 }, (_, i) => values[i] ?? rest);
