// The two layouts of one batch entry on a tensor whose elements name their place.
import { describe, expect, it } from 'vitest';
import { headsFirstToRagged, raggedToHeadsFirst } from '../../src/testing/index.js';

const shape = { heads: 2, tokens: 3, dim: 2 };
// Element = head * 100 + token * 10 + channel.
const headsFirst = Uint16Array.of(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121);
const ragged = Uint16Array.of(0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121);

describe('layout', () => {
  it('moves heads behind tokens and back without touching the source', () => {
    const source = headsFirst.slice();
    expect(headsFirstToRagged(source, shape)).toEqual(ragged);
    expect(source).toEqual(headsFirst);
    expect(raggedToHeadsFirst(ragged, shape)).toEqual(headsFirst);
    expect(headsFirstToRagged(Float32Array.from(headsFirst), shape)).toEqual(
      Float32Array.from(ragged),
    );
  });

  it('refuses a tensor of another size', () => {
    expect(() => headsFirstToRagged(headsFirst.subarray(1), shape)).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID' }),
    );
  });
});
