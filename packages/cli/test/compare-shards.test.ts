// `--shard` of compare, and `merge`.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPORT_FILES } from '@lowbit-kv/report';
import { beforeAll, describe, expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import { type HereOptions, runHere } from './support/run-here.js';
import { fileIn, runShards } from './support/shard-runs.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
const cache = join(directory, 'cache');
const environment = { XDG_CACHE_HOME: cache };
beforeAll(() => writeTinyCapture(join(directory, 'tiny.safetensors')));

const run = (args: readonly string[], options: HereOptions = {}) =>
  runHere(args, { directory, environment, ...options });
const COMMAND = ['compare', '--capture', 'tiny.safetensors', '--positions', '2'];
/** 13 units; two of them are refused for heads of 32. */
const DEFAULT = [...COMMAND];
const keptRows = () => {
  const folder = join(cache, 'lowbit-kv', 'compare');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('compare in shards', () => {
  test.each([1, 3, 8, 20])(
    'of %i is, merged, the comparison of one process to the byte',
    async (of) => {
      const whole = await run([...DEFAULT, '--json']);
      await runShards(run, DEFAULT, of, `shards-${of}`);
      const merged = await run(['merge', `shards-${of}`, '--json']);
      expect(merged).toMatchObject({ code: 0, stdout: whole.stdout, stderr: '' });
      expect(keptRows()).toEqual([]);
    },
  );

  test('merged files are those of one process, but for who measured', async () => {
    await run([...DEFAULT, '--out', 'whole']);
    await runShards(run, DEFAULT, 2, 'two');
    const { code, stdout, stderr } = await run(['merge', 'two', '--out', 'merged']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^kivi-2bit-g32 /m);
    expect(readdirSync(join(directory, 'merged')).sort()).toEqual(
      [...REPORT_FILES, 'shards.json'].sort(),
    );
    expect(stderr).toContain(join(directory, 'merged', 'report.html'));
    for (const name of ['report.json', 'report.csv'])
      expect(fileIn(directory, 'merged', name)).toBe(fileIn(directory, 'whole', name));
    const withoutShards = (name: string) =>
      fileIn(directory, 'merged', name)
        .replaceAll(/^- shard .*\n/gm, '')
        .replaceAll(/<dt>shard \d\/\d<\/dt><dd>[^<]*<\/dd>/g, '');
    expect(withoutShards('report.md')).toBe(fileIn(directory, 'whole', 'report.md'));
    const page = fileIn(directory, 'merged', 'report.html');
    expect(page).toContain('<dt>shard 2/2</dt>');
    expect(page).toContain('import { presets } from &#39;@lowbit-kv/scheme-kivi&#39;;');
    const { shards } = JSON.parse(fileIn(directory, 'merged', 'shards.json'));
    expect(shards).toMatchObject([{ shard: '1/2' }, { shard: '2/2' }]);
    expect(shards[0].machine).toContain(process.version);
    expect(shards[0].units).toContain('kivi-2bit-g32');
  });

  test('a shard that is there is not measured again, unless --fresh says so', async () => {
    const shard = [...DEFAULT, '--shard', '1/3', '--out', 'again'];
    await run(shard);
    const path = join(directory, 'again', 'shard-1-of-3.jsonl');
    const first = readFileSync(path);
    const second = await run(shard, { isTTY: true });
    expect(second.stderr).toContain('this shard is there already; --fresh measures it again');
    expect(second.stderr).not.toContain('step');
    expect((await run([...shard, '--fresh'], { isTTY: true })).stderr).toContain('step');
    expect(readFileSync(path)).toEqual(first);
    const other = await run([...shard, '--model-layers', '9'], { isTTY: true });
    expect(other.stderr).toContain('step');
    writeFileSync(path, first.subarray(0, 100));
    const damaged = await run(shard, { isTTY: true });
    expect(damaged.stderr).toContain('is not used: ');
    expect(readFileSync(path)).toEqual(first);
  });
});

describe('a comparison that was stopped', () => {
  test('by Ctrl-C ends with 130, says what is kept and goes on from there', async () => {
    const whole = await run([...DEFAULT, '--json']);
    const stopped = await run(DEFAULT, {
      isTTY: true,
      interruptAt: (text) => text.includes('innerq-base: step 3/'),
    });
    expect(stopped).toMatchObject({ code: 130, stdout: '' });
    expect(keptRows().length).toBe(3);
    expect(stopped.stderr).toContain('3 finished parts are kept in ');
    expect(stopped.stderr).toMatch(/Interrupted\.\n$/);
    const again = await run([...DEFAULT, '--json']);
    expect(again.stdout).toBe(whole.stdout);
    expect(again.stderr).toBe(
      '3 rows were there already, from a run that did not finish; --fresh measures them again\n',
    );
    expect(keptRows()).toEqual([]);
  });

  test('by SIGKILL loses at most the row that ran; the shard is the same', async () => {
    const shard = [...DEFAULT, '--positions', '6', '--shard', '1/1', '--out'];
    const killed = await runCli([...shard, 'killed'], {
      ...{ directory, environment, signal: 'SIGKILL' },
      interruptWhen: () => keptRows().filter((name) => name.endsWith('.part')).length >= 4,
    });
    expect(killed).toMatchObject({ code: null, signal: 'SIGKILL', stdout: '' });
    expect(readdirSync(join(directory, 'killed'))).toEqual([]);
    const kept = keptRows().filter((name) => name.endsWith('.part')).length;
    expect(kept).toBeGreaterThanOrEqual(4);
    const again = await run([...shard, 'killed']);
    expect(again.stderr).toContain(`${kept} rows were there already`);
    rmSync(join(cache, 'lowbit-kv'), { recursive: true });
    await run([...shard, 'calm']);
    const merged = await Promise.all(['killed', 'calm'].map((at) => run(['merge', at, '--json'])));
    expect(merged[0]?.stdout).toBe(merged[1]?.stdout);
  });

  test('two shards in processes of their own may share a cache', async () => {
    const shards = await Promise.all(
      [1, 2].map((index) =>
        runCli([...DEFAULT, '--shard', `${index}/2`, '--out', 'both'], { directory, environment }),
      ),
    );
    for (const { code, stdout, stderr } of shards)
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' });
    const whole = await run([...DEFAULT, '--json']);
    expect((await run(['merge', 'both', '--json'])).stdout).toBe(whole.stdout);
    expect(keptRows()).toEqual([]);
  });

  test('where no row can be kept it says so and compares all the same; a shard does not', async () => {
    writeFileSync(join(directory, 'file'), '');
    const blocked = { environment: { XDG_CACHE_HOME: join(directory, 'file') } };
    const plain = await run([...COMMAND, '--scheme', 'kivi-2bit-g32'], blocked);
    expect(plain.code).toBe(0);
    expect(plain.stderr).toContain('Rows are not kept, so an interrupted run starts again');
    const shard = await run([...COMMAND, '--shard', '1/2', '--out', 'blocked'], blocked);
    expect(shard).toMatchObject({ code: 1, stdout: '' });
    expect(shard.stderr).toContain('Set XDG_CACHE_HOME to one.');
  });
});

describe('refusals', () => {
  test.each([
    ['0/3', /OPTION_INVALID: there is no such shard .*; got "0\/3"; valid: 1\/3 to 3\/3/],
    ['4/3', /valid: 1\/3 to 3\/3/],
    ['one', /valid: i\/n, n from 1 to 100000/],
  ])('--shard %s', async (shard, message) => {
    const { code, stdout, stderr } = await run([...COMMAND, '--shard', shard, '--out', 'bad']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(existsSync(join(directory, 'bad'))).toBe(false);
  });

  test('a shard without a folder, or with one that cannot be written to', async () => {
    const without = await run([...COMMAND, '--shard', '1/3']);
    expect(without).toMatchObject({ code: 1, stdout: '' });
    expect(without.stderr).toContain('Add --out FOLDER.');
    writeFileSync(join(directory, 'plain-file'), '');
    const blocked = await run([...COMMAND, '--shard', '1/3', '--out', 'plain-file']);
    expect(blocked).toMatchObject({ code: 1, stdout: '' });
    expect(blocked.stderr).toContain('OPTION_INVALID');
  });

  test.each(['--json', '--markdown', '--gate'])(
    'a shard has no report: not with %s',
    async (flag) => {
      const { code, stderr } = await run([...COMMAND, '--shard', '1/3', '--out', 'x', flag]);
      expect(code).toBe(2);
      expect(stderr).toContain(`'--shard <i/n>' cannot be used with option '${flag}'`);
    },
  );

  test('merge names the files, and the shard that is missing', async () => {
    await runShards(run, DEFAULT, 3, 'three');
    const at = (index: number) => join(directory, 'three', `shard-${index}-of-3.jsonl`);
    const missing = await run(['merge', at(1), at(3)]);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toContain('MERGE_REFUSED');
    expect(missing.stderr).toContain(JSON.stringify(at(1)));
    expect(missing.stderr).toContain('--shard 2/3');
    await run([...DEFAULT, '--model-layers', '9', '--shard', '2/3', '--out', 'other']);
    const foreign = join(directory, 'other', 'shard-2-of-3.jsonl');
    const mixed = await run(['merge', at(1), foreign, at(3), '--out', 'mixed']);
    expect(mixed.code).toBe(1);
    expect(mixed.stderr).toContain(JSON.stringify(foreign));
    expect(mixed.stderr).toContain('capture.modelLayers (null and 9)');
    expect(readdirSync(join(directory, 'mixed'))).toEqual([]);
  });

  test.each([
    ['a missing file', ['nothing.jsonl'], /SHARD_INVALID: .*cannot be read.*ENOENT/],
    ['a file that is none', ['tiny.safetensors'], /SHARD_INVALID: this is no shard file/],
    ['an empty folder', ['empty'], /SHARD_INVALID: there is no shard file in this folder/],
  ])('merge of %s', async (_, args, message) => {
    mkdirSync(join(directory, 'empty'), { recursive: true });
    const { code, stdout, stderr } = await run(['merge', ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('merge of nothing is a usage error; gates judge what is merged', async () => {
    expect((await run(['merge'])).code).toBe(2);
    const failed = await run(['merge', 'three', '--fail-if', 'bits>4']);
    expect(failed.code).toBe(3);
    expect(failed.stderr).toContain('gate failed');
    const { stdout } = await run(['merge', 'three', '--markdown']);
    expect(stdout).toMatch(/^\| kivi-2bit-g32 +\|/m);
    const wrong = await run(['merge', 'three', '--fail-if', 'ppl.delta>2%']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
  });
});
