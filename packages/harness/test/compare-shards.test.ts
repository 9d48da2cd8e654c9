// Comparisons in shards: measured apart, put together, refused where they do not belong together.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Calibration, referenceBackend, schemeFingerprint } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  type CompareOptions,
  compareSchemes,
  compareShard,
  fileStore,
  mergeShards,
  readShardFile,
  type ShardFile,
} from '../src/index.js';
import { refusal } from './support/failures.js';
import { affine, bandScheme, channelwise, scheme } from './support/schemes.js';
import { CONTEXT, merged, shardFiles } from './support/shards.js';
import { rounding } from './support/simulations.js';
import { syntheticCapture } from './support/synthetic-capture.js';
import { temporaryFolder } from './support/temporary-folder.js';

const folder = temporaryFolder();
const capture = await syntheticCapture();
/** Groups that do not fit heads of 32. */
const wide = scheme('wide', affine(4, 'channels', 128, { recent: 0, flush: 1 }), { bits: 16 });

const options = (changes: Partial<CompareOptions> = {}): CompareOptions => ({
  capture,
  schemes: [channelwise('eight', 8), bandScheme('bands'), wide, channelwise('two', 2)],
  simulations: [rounding('coarse', 0.5)],
  backend: referenceBackend(),
  positions: 4,
  ...changes,
});

const whole = JSON.stringify(await compareSchemes(options()));

function filesOf(name: string, of: number, changes: Partial<CompareOptions> = {}) {
  return shardFiles(join(folder, name), of, (part) =>
    compareShard(options(changes), part, CONTEXT),
  );
}

const merging = async (files: readonly ShardFile[]) => mergeShards(files);

describe('a comparison in shards', () => {
  // 5 units: 8 shards are more than there are.
  it.each([1, 3, 8])('of %i gives the report of one process, byte for byte', async (of) => {
    const files = await filesOf(`equal-${of}`, of);
    const { json, result } = merged(files);
    expect(json).toBe(whole);
    expect(result.sources.map(({ shard }) => shard)).toEqual(
      Array.from({ length: of }, (_, i) => `${i + 1}/${of}`),
    );
    const rows = files.flatMap(({ shard }) => [...shard.units.keys()]).filter((id) => id !== 'f16');
    expect(rows.toSorted()).toEqual(['bands', 'coarse', 'eight', 'two', 'wide']);
  });

  it('that has nothing to do measures nothing, and says so in its file', async () => {
    const steps: string[] = [];
    const onProgress = ({ id }: { id: string }) => void steps.push(id);
    const empty = await compareShard(options({ onProgress }), { index: 8, of: 8 }, CONTEXT);
    expect(empty.units.size).toBe(0);
    expect(steps).toEqual([]);
  });

  it('may overlap: equal results of one unit count once', async () => {
    const files = [...(await filesOf('overlap', 2)), ...(await filesOf('overlap', 3))];
    expect(JSON.stringify(mergeShards(files).report)).toBe(whole);
  });

  it('has only f16 where no scheme is given', async () => {
    const bare = { schemes: [], simulations: [] };
    const report = await compareSchemes(options(bare));
    expect(merged(await filesOf('bare', 2, bare)).json).toBe(JSON.stringify(report));
  });
});

describe('merging refuses', () => {
  it('when a shard is missing, and says which to run', async () => {
    const [first, , third] = (await filesOf('missing', 3)) as [ShardFile, ShardFile, ShardFile];
    const error = await refusal(merging([first, third]), 'MERGE_REFUSED');
    expect(error.summary).toMatch(/^units are missing: /);
    expect(error.next).toContain('--shard 2/3,');
    expect(error.next).not.toContain('1/3');
    expect(error.value).toEqual([first.file, third.file]);
    const both = await refusal(merging([third]), 'MERGE_REFUSED');
    expect(both.next).toContain('--shard 1/3, --shard 2/3');
    await refusal(merging([]), 'MERGE_REFUSED');
  });

  it('when two shards have different results of one unit, and names both', async () => {
    const [first, second] = (await filesOf('differ', 2)) as [ShardFile, ShardFile];
    const units = new Map(second.shard.units);
    const f16 = structuredClone(units.get('f16')) as { row: { packedBytes: number } };
    f16.row.packedBytes++;
    const other = { ...second, shard: { ...second.shard, units: units.set('f16', f16) } };
    const error = await refusal(merging([first, other as ShardFile]), 'MERGE_REFUSED');
    expect(error.summary).toBe('two shards have different results of one unit: f16');
    expect(error.value).toEqual([first.file, second.file]);
  });

  const bands = bandScheme('bands');
  const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 };
  const calibration: Calibration = {
    specVersion: 1,
    scheme: schemeFingerprint(bands),
    provenance: {},
    layers: [1, 2].map(() => ({ key: { thresholds }, value: { thresholds } })),
  };
  const others: [string, Partial<CompareOptions>, string][] = [
    ['positions', { positions: 3 }, 'replay.attendedPositions (4 and 3)'],
    ['schemes', { schemes: [channelwise('eight', 4)] }, 'schemes[0]'],
    ['model size', { modelLayers: 12 }, 'capture.modelLayers (null and 12)'],
    ['emulation', { allowEmulation: true }, 'inputs.allowEmulation (false and true)'],
    ['calibrations', { calibrations: { bands: calibration } }, 'inputs.calibrations ({} and '],
  ];
  it.each(others)('other %s, and names files and fields', async (name, changes, text) => {
    const [first] = (await filesOf('same', 2)) as [ShardFile];
    const [, other] = (await filesOf(`other-${name}`, 2, changes)) as [ShardFile, ShardFile];
    const error = await refusal(merging([first, other]), 'MERGE_REFUSED');
    expect(error.summary).toContain(text);
    expect(error.value).toEqual([first.file, other.file]);
  });

  it('another capture, whatever its name, and another version', async () => {
    const [first] = (await filesOf('same', 2)) as [ShardFile];
    const changed = await syntheticCapture({ keyChannels: [] });
    const [, other] = (await filesOf('capture', 2, { capture: changed })) as [ShardFile, ShardFile];
    const error = await refusal(merging([first, other]), 'MERGE_REFUSED');
    expect(error.summary).toContain('capture.sha256');
    const [, newer] = (await shardFiles(join(folder, 'newer'), 2, (part) =>
      compareShard(options(), part, { version: 'lowbit-kv 0.0.1' }),
    )) as [ShardFile, ShardFile];
    const versions = await refusal(merging([first, newer]), 'MERGE_REFUSED');
    expect(versions.summary).toContain('version (lowbit-kv 0.0.0 and lowbit-kv 0.0.1)');
  });
});

describe('a shard file', async () => {
  const [{ file }] = (await filesOf('file', 1)) as [ShardFile];
  const text = await readFile(file, 'utf8');
  const damaged = join(folder, 'damaged.jsonl');
  const lines = text.split('\n');

  const damages: [string, string, string][] = [
    ['cut within a line', text.slice(0, -200), 'its last line is missing'],
    ['cut after a line', `${lines.slice(0, -2).join('\n')}\n`, 'its last line is missing'],
    ['without a unit', `${[...lines.slice(0, 2), ...lines.slice(3)].join('\n')}`, 'checksum'],
    ['changed in one digit', text.replace('"packedBytes":0', '"packedBytes":1'), 'checksum'],
    ['empty', '', 'this is no shard file'],
    ['a report', whole, 'this is no shard file'],
    ['of another version', text.replace('"shardVersion":1', '"shardVersion":9'), 'another version'],
    ['malformed', text.replace('"index":1', '"index":"1"'), 'header of a shard file is malformed'],
  ];
  it.each(damages)('that is %s is refused', async (_, content, message) => {
    expect(content).not.toBe(text);
    await writeFile(damaged, content);
    const error = await refusal(readShardFile(damaged), 'SHARD_INVALID');
    expect(error.summary).toContain(message);
    expect(error.where).toEqual({ file: damaged });
  });

  it('that is missing is refused', async () => {
    const error = await refusal(readShardFile(join(folder, 'none')), 'SHARD_INVALID');
    expect(error.value).toContain('ENOENT');
  });
});

describe('rows that a store keeps', () => {
  /** Ids of rows that were replayed. */
  async function replayed(directory: string, changes: Partial<CompareOptions> = {}) {
    const ids = new Set<string>();
    const report = await compareSchemes(
      options({
        store: fileStore(join(folder, directory)),
        onProgress: ({ id }) => void ids.add(id),
        ...changes,
      }),
    );
    return { json: JSON.stringify(report), ids: [...ids] };
  }

  it('are not replayed again, and change no byte; simulations are, being code', async () => {
    const first = await replayed('rows');
    expect(first).toEqual({ json: whole, ids: ['f16', 'eight', 'bands', 'two', 'coarse'] });
    expect(await replayed('rows')).toEqual({ json: whole, ids: ['coarse'] });
  });

  it('belong to options, settings, calibration and scheme', async () => {
    await replayed('keys');
    const all = ['f16', 'eight', 'bands', 'two', 'coarse'];
    expect((await replayed('keys', { positions: 3 })).ids).toEqual(all);
    expect((await replayed('keys', { settings: { version: '2' } })).ids).toEqual(all);
    expect((await replayed('keys', { modelLayers: 12 })).ids).toEqual(all);
    const simulations: CompareOptions['simulations'] = [];
    const renamed = [channelwise('other', 8)];
    expect((await replayed('keys', { schemes: renamed, simulations })).ids).toEqual(['other']);
    const fewer = [channelwise('eight', 4), channelwise('two', 2)];
    expect((await replayed('keys', { schemes: fewer, simulations })).ids).toEqual(['eight']);
  });
});
