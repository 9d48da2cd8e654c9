// The contract that core holds every scheme to, for every preset, with the one weakness that the README names.
import { ContractSkip, schemeChecks } from '@lowbit-kv/core/contract';
import { describe, it } from 'vitest';
import { presets } from '../src/index.js';

/**
 * Checks that must fail. The suite lets no element err by more than twice the largest value; a constant vector is rotated
 * onto one coordinate, and at 2 and 3 bits the errors of all others, which are exact zeros, add up in one element.
 */
const KNOWN_FAILURES: Record<string, readonly string[]> = {
  'turboquant-2bit': ['corner: constant groups', 'corner: negative constant groups'],
  'turboquant-3bit': ['corner: constant groups'],
  'turboquant-4bit': [],
  'turboquant-2bit-s32-r96': ['corner: constant groups', 'corner: negative constant groups'],
};

for (const preset of presets) {
  describe(`contract of scheme ${preset.id}`, () => {
    const known = KNOWN_FAILURES[preset.id] ?? [];
    const checks = schemeChecks(preset);
    it('has every check that must fail', ({ expect }) => {
      expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining([...known]));
    });
    for (const { name, skipped, run } of checks) {
      if (skipped.length > 0) throw new Error(`${name} is refused: ${skipped.join('; ')}`);
      if (known.includes(name)) {
        it.fails(name, run);
        continue;
      }
      it(name, async (context) => {
        try {
          await run();
        } catch (error) {
          if (error instanceof ContractSkip) context.skip(error.message);
          throw error;
        }
      });
    }
  });
}
