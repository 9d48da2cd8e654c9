/**
 * Everything that writes files, each with two versions of what it writes: after a fault a file is of one of them.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referenceBackend } from '@lowbit-kv/core';
import {
  type CompareReport,
  compareSchemes,
  compareShard,
  fileStore,
  writeShardFile,
  writeWhole,
} from '@lowbit-kv/harness';
import { fetchModel } from '@lowbit-kv/model-onnx';
import { writeReportFiles } from '@lowbit-kv/report';
import { writeTinyCapture } from '../../../packages/cli/test/support/tiny-capture.js';
import {
  snapshotCache,
  snapshotSequences,
} from '../../../packages/core/scripts/golden-snapshot.js';
import { channelwise } from '../../../packages/harness/test/support/schemes.js';
import { syntheticCapture } from '../../../packages/harness/test/support/synthetic-capture.js';
import { type HubFile, TinyHub } from '../../../packages/model-onnx/test/support/tiny-hub.js';

export type Version = 0 | 1;

export interface Writer {
  readonly name: string;
  /** Rejects with what a user is told. */
  write(folder: string, version: Version): Promise<unknown>;
}

export interface Writers {
  readonly writers: readonly Writer[];
  /** Of the hub that models come from. */
  readonly endpoint: string;
  close(): Promise<void>;
}

/** `endpoint`: of the hub of another process, whose models are then named by their commits. */
export async function openWriters(endpoint?: string): Promise<Writers> {
  const hub = await openHub(endpoint);
  const options = {
    capture: await syntheticCapture(),
    schemes: [channelwise('two', 2)],
    backend: referenceBackend(),
    positions: 2,
  };
  const report = await compareSchemes(options);
  const shard = (version: Version) =>
    compareShard(options, { index: 1, of: 2 }, { version: `lowbit-kv 0.0.${version}` });
  const shards = [await shard(0), await shard(1)] as const;
  const text = (version: Version) => `${JSON.stringify({ version, text: 'x'.repeat(5000) })}\n`;
  const cache = await snapshotCache();
  const sequences = await snapshotSequences(cache);
  const snapshots = [
    await cache.snapshot(sequences),
    await cache.snapshot(sequences.slice(1)),
  ] as const;
  const writers: Writer[] = [
    {
      name: 'a report',
      write: (folder, version) => writeReportFiles(folder, reportOf(report, version)),
    },
    {
      name: 'a shard',
      write: (folder, version) => writeShardFile(join(folder, 'shard.jsonl'), shards[version]),
    },
    {
      name: 'a part that is kept',
      write: (folder, version) => fileStore(folder).put('abc', Buffer.from(text(version))),
    },
    {
      name: 'a capture',
      write: (folder, version) =>
        writeTinyCapture(join(folder, 'capture.safetensors'), { model: `version ${version}` }),
    },
    {
      name: 'a snapshot',
      write: (folder, version) => writeWhole(join(folder, 'snapshot'), snapshots[version]),
    },
    {
      name: 'exported graphs',
      write: (folder, version) =>
        command(folder, [
          ...['export-onnx', '--scheme', version === 0 ? 'kivi-2bit-g32' : 'kivi-4bit-g32'],
          ...['--geometry', GEOMETRY, '--out', folder],
        ]),
    },
    {
      name: 'a model from the hub',
      write: (folder, version) => hub.fetch(folder, version),
    },
  ];
  return { writers, endpoint: hub.endpoint, close: hub.close };
}

const GEOMETRY = '{"layers":1,"queryHeads":2,"kvHeads":1,"keyHeadDim":32,"valueHeadDim":32}';

/** Reports are equal but for the text that they are of. */
function reportOf(report: CompareReport, version: Version): CompareReport {
  const capture = { ...report.capture, provenance: { model: `version ${version}` } };
  return { ...report, capture };
}

/** Throws what the command says on stderr. */
async function command(directory: string, args: readonly string[]): Promise<void> {
  // It takes as long to load as all others, and is not needed for them.
  const { run, Terminal } = await import('lowbit-kv');
  let said = '';
  const stream = { write: (text: string) => (said += text) };
  const terminal = new Terminal({
    ...{ stdout: { write: () => true }, stderr: stream, environment: {}, directory },
  });
  if ((await run(args, terminal)) !== 0) throw new Error(said);
}

async function openHub(other: string | undefined) {
  const name = 'somebody/model';
  const hub = new TinyHub(name);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const files = (version: Version): Readonly<Record<string, HubFile>> => ({
    'config.json': { bytes: bytes(`{"model_type":"llama","version":${version}}`) },
    'tokenizer.json': {
      bytes: bytes(`{"model":{},"text":"${'x'.repeat(3000 + version)}"}`),
      lfs: true,
    },
    'onnx/model.onnx': { bytes: new Uint8Array() },
  });
  const commits = [hub.push(files(0)), hub.push(files(1))] as const;
  if (other === undefined) await hub.start();
  const endpoint = other ?? hub.endpoint;
  return {
    endpoint,
    close: async () => (other === undefined ? hub.stop() : undefined),
    fetch: (cacheDir: string, version: Version) => {
      hub.revisions.set('main', commits[version]);
      const revision = other === undefined ? 'main' : commits[version];
      return fetchModel(name, { endpoint, cacheDir, revision, retries: 0, timeout: 5000 });
    },
  };
}

/** What is in a folder and below it, by path; files that are being written left out. */
export async function contentsOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !isUnfinished(entry.name));
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
  const contents = new Map<string, string>();
  for (const path of paths)
    contents.set(path.slice(folder.length + 1), await readFile(path, 'latin1'));
  return contents;
}

/** Names that nothing reads, and that a kill may leave. */
export function isUnfinished(name: string): boolean {
  return /\.(tmp|part)$/.test(name) && name !== 'abc.part';
}
