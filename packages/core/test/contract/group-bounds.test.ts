// The error bounds of the contract suite hold for every code set and type of scale, and are not far above what really occurs.
import { describe, expect, it } from 'vitest';
import { errorBounds } from '../../src/contract/group-bounds.js';
import { schemeChecks } from '../../src/contract/index.js';
import { decodeF16 } from '../../src/float16.js';
import { defineScheme, type QuantizedTensorScheme } from '../../src/index.js';
import { decodeTokens } from '../../src/law/decode.js';
import { encodeTokens } from '../../src/law/encode.js';
import {
  asymmetric,
  E2M1_LEVELS,
  hybrid,
  inlineScheme,
  inlineTables,
  levelTable,
  symmetric,
  withTop,
  withTypes,
} from '../../src/testing/index.js';
import { normalBits, planOf } from '../law/support.js';

const DIM = 64;
const TOKENS = 64;

const tensors = (['tokens', 'channels'] as const).flatMap((along): QuantizedTensorScheme[] => {
  const plain = [
    ...([1, 2, 4, 8] as const).map((bits) => asymmetric(bits, along, 16)),
    ...([2, 3, 8] as const).flatMap((bits) =>
      (['signmag', 'full', 'fullSigned'] as const).map((codes) =>
        symmetric(bits, codes, along, 16),
      ),
    ),
    hybrid(3, 'signmag', 2, 'symmetric', along, 16),
    ...inlineTables(along, 16).filter(
      ({ quantizer: { codes } }) => typeof codes !== 'object' || codes.levels !== 'calibrated',
    ),
  ];
  const typed = plain.flatMap((tensor) => [0, 1, 2, 3].map((pick) => withTypes(tensor, pick)));
  return [...typed, ...plain.map((tensor) => withTop(tensor, 2))];
});

function nameOf({ bits, groups, quantizer, parameters, outliers }: QuantizedTensorScheme): string {
  const codes =
    typeof quantizer.codes === 'object'
      ? `${(quantizer.codes.levels as number[]).length} levels ${quantizer.codes.scaledBy}`
      : quantizer.codes;
  const extra = outliers === undefined ? '' : ', outliers';
  return `${quantizer.mode} ${codes}, ${bits} bit along ${groups.along}, ${Object.values(parameters)}${extra}`;
}

describe('error bounds', () => {
  it.each(tensors.map((tensor) => [nameOf(tensor), tensor] as const))('%s', (_name, tensor) => {
    const plan = planOf(tensor, { heads: 2, headDim: DIM, blockTokens: TOKENS });
    let closest = 0;
    for (const [seed, spread, mean] of [
      [1, 1, 0],
      [2, 2 ** -12, 0],
      [3, 3000, 0],
      [4, 0.25, 5],
    ] as const) {
      const tokens = normalBits(TOKENS * 2 * DIM, seed, () => ({ mean, spread }));
      const page = new Uint8Array(plan.layout.pageBytes);
      encodeTokens(plan, tokens, TOKENS, null, page, 0);
      const original = decodeF16(tokens);
      const bounds = errorBounds(plan, tensor, original);
      for (const head of [0, 1]) {
        const decoded = new Float32Array(TOKENS * DIM);
        decodeTokens(plan, page, head, 0, TOKENS, decoded);
        for (const [i, value] of decoded.entries()) {
          const at = (Math.floor(i / DIM) * 2 + head) * DIM + (i % DIM);
          const [error, bound] = [Math.abs(value - original[at]!), bounds[at]!];
          if (error > bound) expect.fail(`${value} for ${original[at]}, may err by ${bound}`);
          if (bound > 0) closest = Math.max(closest, error / bound);
        }
      }
    }
    expect(closest).toBeGreaterThan(0.4);
  });
});

describe('the value checks of a scheme', () => {
  const e2m1 = levelTable(4, { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' }, 'channels', 32);
  const schemes = {
    'tables and short scales': inlineScheme({ key: withTypes(e2m1, 3), value: withTypes(e2m1, 2) }),
    'integers with powers of two as scales': inlineScheme({
      key: withTypes(symmetric(4, 'signmag', 'channels', 32), 3),
      value: withTypes(asymmetric(4, 'tokens', 32), 2),
    }),
    outliers: inlineScheme({
      key: withTop(asymmetric(2, 'tokens', 32), 2),
      value: withTop(symmetric(4, 'full', 'channels', 32), 1),
    }),
  };
  it.each(Object.entries(schemes))('pass: %s', async (_name, scheme) => {
    const checks = schemeChecks(defineScheme(scheme)).filter(({ name }) =>
      /^(corner|values on the grid|the error of packed)/.test(name),
    );
    expect(checks.length).toBeGreaterThan(8);
    const skipped: string[] = [];
    for (const check of checks) {
      try {
        await check.run();
      } catch (error) {
        if (!String(error).includes('promises to keep a grid')) throw error;
        skipped.push(check.name);
      }
    }
    // Integers on a power of two keep their grid; tables and what outliers leave promise none.
    expect(skipped.length).toBe(
      scheme === schemes['integers with powers of two as scales'] ? 0 : 1,
    );
  });
});
