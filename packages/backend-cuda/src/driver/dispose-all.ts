/**
 * Disposing of many resources.
 */

/** Disposes of all of them, whatever fails on the way; throws the first failure then. */
export function disposeAll(resources: Iterable<{ dispose(): void }>): void {
  const failures: unknown[] = [];
  for (const resource of resources) {
    try {
      resource.dispose();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
