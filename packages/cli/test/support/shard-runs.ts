/** Shards of a command run one after another, and what merging them gives. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { HereResult } from './run-here.js';

type Run = (args: readonly string[]) => Promise<HereResult>;

/** Runs all shards of `command` into a folder. Each says on stderr what it wrote, and nothing on stdout. */
export async function runShards(run: Run, command: readonly string[], of: number, out: string) {
  const results: HereResult[] = [];
  for (let index = 1; index <= of; index++) {
    const result = await run([...command, '--shard', `${index}/${of}`, '--out', out]);
    expect({ code: result.code, stdout: result.stdout }, result.stderr).toEqual({
      ...{ code: 0, stdout: '' },
    });
    expect(result.stderr).toContain(`shard-${index}-of-${of}.jsonl`);
    results.push(result);
  }
  return results;
}

/** The text of a file of a report, in a folder. */
export function fileIn(directory: string, ...path: string[]): string {
  return readFileSync(join(directory, ...path), 'utf8');
}
