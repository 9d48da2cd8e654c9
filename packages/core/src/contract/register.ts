/**
 * Checks as tests of vitest.
 */
import { it } from 'vitest';
import { type ContractCheck, ContractSkip } from './check.js';

/** Registers checks as tests; those that are skipped with their reasons. */
export function register(checks: readonly ContractCheck[]): void {
  for (const { name, skipped, run } of checks) {
    if (skipped.length > 0) {
      it(`${name} (refused: ${skipped.join('; ')})`, (context) => context.skip());
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
}
