/** Captures: what is read, and one refusal per rule of docs/capture-format.md. */

import { decodeF16, encodeF16, f16ToF32 } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { openCapture } from '../src/index.js';
import {
  captureBytes,
  f16Tensor,
  type SmallCapture,
  smallCapture,
} from './support/capture-bytes.js';
import { refusal } from './support/failures.js';
import { safetensorsBytes } from './support/safetensors-bytes.js';

type Change = (capture: SmallCapture) => void;

describe('a capture', () => {
  it('tells layers, sizes, scale and provenance', async () => {
    const capture = await openCapture(captureBytes());
    expect(capture).toMatchObject({
      layers: [3, 11],
      queryHeads: 4,
      kvHeads: 2,
      keyHeadDim: 8,
      valueHeadDim: 6,
      tokens: 5,
      queries: 3,
      scale: 0.25,
      hasKeyPreRope: false,
    });
    expect(capture.provenance.model).toBe('made up');
  });

  it('gives each layer its own tensors, bit for bit', async () => {
    const { tensors } = smallCapture();
    const capture = await openCapture(captureBytes());
    for (const index of capture.layers) {
      const layer = await capture.readLayer(index);
      expect(layer.index).toBe(index);
      expect(layer.key).toEqual(tensors[`layers.${index}.key`]?.data);
      expect(layer.value).toEqual(tensors[`layers.${index}.value`]?.data);
      expect(layer.query).toEqual(decodeF16(tensors[`layers.${index}.query`]?.data as Uint16Array));
      expect(layer).not.toHaveProperty('keyPreRope');
    }
  });

  it('gives keys before RoPE when every layer has them', async () => {
    const capture = await openCapture(
      captureBytes(({ tensors }) => {
        for (const layer of [3, 11])
          tensors[`layers.${layer}.key_pre_rope`] = f16Tensor([1, 2, 5, 8], 99);
      }),
    );
    expect(capture.hasKeyPreRope).toBe(true);
    expect((await capture.readLayer(11)).keyPreRope).toEqual(f16Tensor([1, 2, 5, 8], 99).data);
  });

  it('rounds F32 and BF16 keys and values to f16 once, and keeps F32 queries', async () => {
    const key = Float32Array.from({ length: 80 }, (_, i) => 2048 + i + 1 / 3);
    const value = Uint16Array.from({ length: 60 }, (_, i) => 0x3f80 + i);
    const query = Float32Array.from({ length: 96 }, (_, i) => i / 7);
    const capture = await openCapture(
      captureBytes(({ tensors }) => {
        tensors['layers.3.key'] = { dtype: 'F32', shape: [1, 2, 5, 8], data: key };
        tensors['layers.3.value'] = { dtype: 'BF16', shape: [1, 2, 5, 6], data: value };
        tensors['layers.3.query'] = { dtype: 'F32', shape: [1, 4, 3, 8], data: query };
      }),
    );
    const layer = await capture.readLayer(3);
    expect(layer.key).toEqual(encodeF16(key));
    expect([...layer.value].map(f16ToF32)).toEqual([...value].map((_, i) => 1 + i / 128));
    expect(layer.query).toEqual(query);
  });

  it('keeps a metadata member that plain objects already have', async () => {
    const header = captureBytes(({ metadata }) => {
      Object.defineProperty(metadata, '__proto__', { value: 'text', enumerable: true });
    });
    const { provenance } = await openCapture(header);
    expect(Object.entries(provenance)).toContainEqual(['__proto__', 'text']);
    expect(Object.getPrototypeOf(provenance)).toBe(Object.prototype);
  });

  it('refuses a layer that was not captured, and reading after close', async () => {
    const capture = await openCapture(captureBytes());
    const error = await refusal(capture.readLayer(4), 'OPTION_INVALID');
    expect(error.valid).toEqual([3, 11]);
    await capture.close();
    await refusal(capture.readLayer(3), 'SAFETENSORS_INVALID');
  });

  it('accepts metadata that agree with the tensors', async () => {
    const capture = await openCapture(
      captureBytes(({ metadata }) => {
        Object.assign(metadata, {
          layers: '[3, 11]',
          tokens: '5',
          query_tokens: '3',
          query_heads: '4',
          kv_heads: '2',
          key_head_dim: '8',
          value_head_dim: '6',
          positions: '100..104',
          scale: '1e-1',
        });
      }),
    );
    expect(capture.scale).toBe(0.1);
  });
});

describe('a capture is refused', () => {
  const reshape =
    (name: string, shape: number[]): Change =>
    ({ tensors }) => {
      tensors[name] = f16Tensor(shape);
    };
  const without =
    (name: string): Change =>
    ({ tensors }) => {
      delete tensors[name];
    };
  const note =
    (field: string, text: string): Change =>
    ({ metadata }) => {
      metadata[field] = text;
    };
  const forget =
    (field: string): Change =>
    ({ metadata }) => {
      delete metadata[field];
    };

  it.each<[what: string, change: Change, tensor: string, says: RegExp]>([
    ['a missing key', without('layers.3.key'), 'layers.3.key', /lacks this tensor/],
    ['a missing value', without('layers.11.value'), 'layers.11.value', /lacks this tensor/],
    ['a missing query', without('layers.11.query'), 'layers.11.query', /lacks this tensor/],
    [
      'a misspelled name',
      reshape('layers.3.keys', [1]),
      'layers.3.keys',
      /valid: "?layers\.N\.key/,
    ],
    [
      'a layer with a leading zero',
      reshape('layers.03.key', [1]),
      'layers.03.key',
      /no tensor of this name/,
    ],
    [
      'rank 3',
      reshape('layers.3.key', [2, 5, 8]),
      'layers.3.key',
      /wrong rank.*\[2,5,8\].*\[1, heads, positions, headDim\]/,
    ],
    ['batch 2', reshape('layers.3.value', [2, 2, 5, 6]), 'layers.3.value', /batch must be 1/],
    ['no tokens', reshape('layers.3.key', [1, 2, 0, 8]), 'layers.3.key', /empty tensor/],
    [
      '5 query heads on 2 kv heads',
      reshape('layers.3.query', [1, 5, 3, 8]),
      'layers.3.query',
      /a multiple of 2/,
    ],
    [
      'more queries than tokens',
      reshape('layers.3.query', [1, 4, 6, 8]),
      'layers.3.query',
      /1 to 5/,
    ],
    [
      'values of other tokens',
      reshape('layers.3.value', [1, 2, 4, 6]),
      'layers.3.value',
      /does not fit layers\.3\.key.*\[1, 2, 5, 6\]/,
    ],
    [
      'values of other heads',
      reshape('layers.3.value', [1, 1, 5, 6]),
      'layers.3.value',
      /does not fit layers\.3\.key/,
    ],
    [
      'queries of another head dim',
      reshape('layers.3.query', [1, 4, 3, 4]),
      'layers.3.query',
      /\[1, 4, 3, 8\]/,
    ],
    [
      'a layer of other tokens',
      reshape('layers.11.key', [1, 2, 9, 8]),
      'layers.11.key',
      /differs from layer 3.*\[1, 2, 5, 8\]/,
    ],
    [
      'a layer of other head dims',
      reshape('layers.11.value', [1, 2, 5, 8]),
      'layers.11.value',
      /differs from layer 3/,
    ],
    [
      'pre-RoPE keys in one layer',
      reshape('layers.11.key_pre_rope', [1, 2, 5, 8]),
      'layers.11.key_pre_rope',
      /every layer or to none/,
    ],
    [
      'pre-RoPE keys of another shape',
      ({ tensors }) => {
        tensors['layers.3.key_pre_rope'] = f16Tensor([1, 2, 5, 6]);
        tensors['layers.11.key_pre_rope'] = f16Tensor([1, 2, 5, 8]);
      },
      'layers.3.key_pre_rope',
      /\[1, 2, 5, 8\]/,
    ],
    [
      'integers',
      ({ tensors }) => {
        tensors['layers.3.key'] = { dtype: 'I8', shape: [1, 2, 5, 8], data: new Int8Array(80) };
      },
      'layers.3.key',
      /"I8".*"F16", "BF16", "F32"/,
    ],
  ])('for %s', async (_what, change, tensor, says) => {
    const error = await refusal(openCapture(captureBytes(change)), 'CAPTURE_INVALID');
    expect(error.where).toEqual({ file: '(bytes in memory)', tensor });
    expect(error.message).toMatch(says);
  });

  it.each<[what: string, change: Change, says: RegExp]>([
    ['no format', forget('format'), /"format" is missing.*lowbit-kv-capture/],
    ['another format', note('format', 'pt'), /"format" is not what this reader knows.*got "pt"/],
    ['no version', forget('version'), /"version" is missing/],
    ['another version', note('version', '2'), /got "2"/],
    ['no scale', forget('scale'), /"scale" is missing/],
    ['scale 0', note('scale', '0'), /not a positive number/],
    ['a scale in words', note('scale', 'default'), /not a positive number/],
    ['an infinite scale', note('scale', '1e999'), /not a positive number/],
    ['a negative scale', note('scale', '-0.125'), /not a positive number/],
    ['other tokens', note('tokens', '6'), /"tokens" disagrees.*got "6"; valid: "5"/],
    ['other queries', note('query_tokens', '5'), /"query_tokens" disagrees/],
    ['other query heads', note('query_heads', '2'), /"query_heads" disagrees/],
    ['other kv heads', note('kv_heads', '4'), /"kv_heads" disagrees/],
    ['another head dim', note('head_dim', '6'), /"head_dim" disagrees/],
    ['one head dim for two', note('head_dim', '8'), /"head_dim" is ambiguous/],
    ['another value head dim', note('value_head_dim', '8'), /"value_head_dim" disagrees/],
    ['other layers', note('layers', '[3]'), /"layers" disagrees.*\[3, 11\]/],
    ['positions that do not add up', note('positions', '0..5'), /"positions" disagrees/],
    ['positions in words', note('positions', 'all'), /"positions" disagrees/],
  ])('for metadata with %s', async (_what, change, says) => {
    const error = await refusal(openCapture(captureBytes(change)), 'CAPTURE_INVALID');
    expect(error.message).toMatch(says);
  });

  it('for having no layer', async () => {
    const empty = safetensorsBytes({}, smallCapture().metadata);
    expect((await refusal(openCapture(empty), 'CAPTURE_INVALID')).message).toMatch(/no layer/);
  });

  it('for not being safetensors at all', async () => {
    await refusal(openCapture(new Uint8Array(4)), 'SAFETENSORS_INVALID');
  });
});
