/** The schemes that none beats, on points where the answer is known. */
import { describe, expect, it } from 'vitest';
import { paretoFront } from '../src/pareto.js';
import type { SchemeRow, VerdictLevel } from '../src/report.js';

function row(id: string, bits: number, nmse: number | null, level: VerdictLevel = 'unsafe') {
  return {
    status: 'measured',
    id,
    bits: { attended: bits },
    output: { nmse },
    verdict: { level, reason: 'made up' },
  } as SchemeRow;
}

describe('the front', () => {
  it('holds what no other beats, by rising bits', () => {
    const rows = [
      row('more bits, more error', 5, 0.3),
      row('four', 4, 0.01),
      row('two', 2, 0.2),
      row('three', 3, 0.1),
      row('three, worse', 3, 0.11),
      row('five, no better than four', 5, 0.01),
    ];
    expect(paretoFront(rows)).toEqual(['two', 'three', 'four']);
  });

  it('holds both of two equal rows', () => {
    expect(paretoFront([row('a', 3, 0.1), row('b', 3, 0.1), row('c', 2, 0.2)])).toEqual([
      'c',
      'a',
      'b',
    ]);
  });

  it('leaves out the baseline, and rows without figures', () => {
    const refused = { status: 'refused', id: 'refused' } as SchemeRow;
    const rows = [
      row('f16', 16, 0, 'baseline'),
      row('all in windows', 16, 0, 'unmeasured'),
      row('broken', 1, 0, 'invalid'),
      row('not finite', 1, null),
      refused,
      row('one', 4, 0.1, 'safe'),
    ];
    expect(paretoFront(rows)).toEqual(['one']);
    expect(paretoFront([refused])).toEqual([]);
  });
});
