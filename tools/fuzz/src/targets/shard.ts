/** Files of shards: lines of JSON and a checksum, then merged with a whole one. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { referenceBackend } from '@lowbit-kv/core';
import { compareShard, mergeShards, readShardFile, writeShardFile } from '@lowbit-kv/harness';
import { channelwise } from '../../../../packages/harness/test/support/schemes.js';
import { syntheticCapture } from '../../../../packages/harness/test/support/synthetic-capture.js';
import { mutateBytes } from '../mutate/bytes.js';
import { mutateJson } from '../mutate/json.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';
import { Scratch } from './scratch.js';

export const shard: Target = {
  name: 'shard',
  codes: ['SHARD_INVALID', 'MERGE_REFUSED'],
  async open() {
    const scratch = new Scratch('shard');
    const options = {
      capture: await syntheticCapture(),
      schemes: [channelwise('two', 2), channelwise('eight', 8)],
      backend: referenceBackend(),
      positions: 2,
    };
    const texts: string[] = [];
    for (const index of [1, 2]) {
      const path = scratch.write('whole', '');
      await writeShardFile(path, await compareShard(options, { index, of: 2 }, { version: 'x' }));
      texts.push(readFileSync(path, 'utf8'));
    }
    const [first = '', second = ''] = texts;
    const whole = JSON.stringify((await mergedOf(scratch, [first, second])).report);
    return {
      mutant: (random) => mutateShard(random, first),
      async check(mutant) {
        const text = new TextDecoder().decode(mutant);
        const { report, sources } = await mergedOf(scratch, [text, second]);
        mustHold(sources.length >= 1, 'a report of no shard');
        const isReport = typeof report === 'object' && JSON.stringify(report).length > 100;
        mustHold(isReport, 'a report that is none');
        if (text === first)
          mustHold(JSON.stringify(report) === whole, 'another report of the same');
      },
      close: async () => scratch.remove(),
    };
  },
};

async function mergedOf(scratch: Scratch, texts: readonly string[]) {
  scratch.clear();
  const files = texts.map((text, i) => scratch.write(`shard-${i + 1}-of-2.jsonl`, text));
  return mergeShards(await Promise.all(files.map((file) => readShardFile(join(file)))));
}

/** Bytes that are changed anywhere, or JSON of a line under a checksum that is right. */
function mutateShard(random: Random, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (random.chance(0.3)) return mutateBytes(random, bytes);
  const lines = text.trimEnd().split('\n').slice(0, -1);
  const at = random.below(lines.length);
  const decoder = new TextDecoder();
  lines[at] = decoder.decode(mutateJson(random, JSON.parse(lines[at] ?? 'null')));
  if (random.chance(0.1)) lines.push(lines[at] ?? '');
  if (random.chance(0.1)) lines.splice(at, 1);
  const body = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(body).digest('hex');
  const end = `${JSON.stringify({ units: lines.length - 1, sha256 })}\n`;
  return new TextEncoder().encode(body + end);
}
