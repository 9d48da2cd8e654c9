// `--shard` of eval on a tiny model, and `merge`.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type EvalReport, evalReportSchema, readShardFile } from '@lowbit-kv/harness';
import { describe, expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import { type HereOptions, runHere } from './support/run-here.js';
import { fileIn, runShards } from './support/shard-runs.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { cache, directory, path } = tinyWorkspace();
const environment = { XDG_CACHE_HOME: cache };
const MODEL = ['eval', '--model', 'model', '--threads', '1', '--text', 'text.txt'];
/** kivi-2bit-g128 is refused: heads have 64 channels. oaken-sm is calibrated on the text. */
const COMMAND = [
  ...[...MODEL, '--scheme', 'kivi-2bit-g32', 'kivi-2bit-g128', 'oaken-sm'],
  ...['--windows', '3', '--window', '200', '--calibration-tokens', '150'],
];

const run = (args: readonly string[], options: HereOptions = {}) =>
  runHere(args, { directory, environment, ...options });
const kept = () => {
  const folder = join(cache, 'lowbit-kv', 'eval');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.part')) : [];
};

const reportOf = (text: string): EvalReport => evalReportSchema.parse(JSON.parse(text));

/** In bytes, without times, the command, and what was taken from earlier runs. */
function timeless(text: string): string {
  const report = reportOf(text);
  const none = { seconds: null, tokensPerSecond: null };
  return JSON.stringify({
    ...report,
    uncut: none,
    command: null,
    resumed: null,
    schemes: report.schemes.map((row) =>
      'rate' in row ? { ...row, rate: { ...none, percentOfUncut: null } } : row,
    ),
  });
}

describe('eval in shards', () => {
  // 3 windows: 8 shards cut each of them.
  test.each([1, 3, 8])(
    'of %i is, merged, the evaluation of one process',
    async (of) => {
      const whole = await run([...COMMAND, '--json']);
      expect(whole.code, whole.stderr).toBe(0);
      await runShards(run, COMMAND, of, `shards-${of}`);
      const merged = await run(['merge', `shards-${of}`, '--json']);
      expect(merged.code, merged.stderr).toBe(0);
      expect(timeless(merged.stdout)).toBe(timeless(whole.stdout));
      expect(kept()).toEqual([]);
    },
    60_000,
  );

  test('with retrieval and --mode decode, too', async () => {
    const command = [...MODEL, '--scheme', 'kivi-2bit-g32', '--windows', '2', '--window', '96'];
    command.push('--mode', 'decode', '--retrieval', '160');
    const whole = await run([...command, '--json']);
    await runShards(run, command, 3, 'retrieval');
    const merged = await run(['merge', 'retrieval', '--json']);
    expect(timeless(merged.stdout)).toBe(timeless(whole.stdout));
    expect(reportOf(merged.stdout).retrieval?.prompts).toHaveLength(5);
  }, 60_000);

  test('files of a merged report say what memory takes, and who measured', async () => {
    const { code } = await run(['merge', 'shards-3', '--out', 'merged']);
    expect(code).toBe(0);
    await run([...COMMAND, '--out', 'whole']);
    const merged = fileIn(directory, 'merged', 'report.json');
    expect(timeless(merged)).toBe(timeless(fileIn(directory, 'whole', 'report.json')));
    const memoryIn = (name: string) => {
      const page = fileIn(directory, name, 'report.html');
      return page.slice(page.indexOf('<h2 id="memory">'), page.indexOf('<h2 id="provenance">'));
    };
    expect(memoryIn('merged').length).toBeGreaterThan(1000);
    const { shards } = JSON.parse(fileIn(directory, 'merged', 'shards.json'));
    expect(shards).toHaveLength(3);
    expect(shards[1].units).toContain('window 1: kivi-2bit-g32');
    // Every scheme has its lines of memory, whichever shard it came from.
    for (const id of ['kivi-2bit-g32', 'oaken-sm']) expect(memoryIn('merged')).toContain(id);
    expect(memoryIn('merged')).toBe(memoryIn('whole'));
  }, 60_000);

  test('a shard calibrates only the schemes that it measures', async () => {
    const command = [...MODEL, '--scheme', 'kivi-2bit-g32', 'oaken-sm', '--windows', '1'];
    command.push('--window', '200', '--calibration-tokens', '150');
    const [first, second] = await runShards(run, command, 2, 'one-window');
    expect(first?.stderr).not.toContain('is calibrated on');
    expect(second?.stderr).toContain('oaken-sm is calibrated on');
  });

  test('a shard that is there is not measured again, and its windows are not touched', async () => {
    const shard = [...COMMAND, '--shard', '2/3', '--out', 'shards-3'];
    const again = await run(shard, { isTTY: true });
    expect(again.stderr).toContain('this shard is there already; --fresh measures it again');
    expect(again.stderr).not.toContain('window 2/3');
    const fresh = await run([...shard, '--fresh'], { isTTY: true });
    expect(fresh.stderr).toContain('window 2/3');
    expect(fresh.stderr).not.toContain('window 1/3');
  });
});

describe('shards that end early', () => {
  const LONG = [...MODEL, '--scheme', 'kivi', 'innerq', '--windows', '4', '--window', '200'];

  test('SIGKILL half way loses at most the unit that ran; the report is the same', async () => {
    const shard = [...LONG, '--shard', '1/2', '--out', 'killed'];
    const killed = await runCli(shard, {
      ...{ directory, environment, signal: 'SIGKILL' },
      interruptWhen: () => kept().length >= 6,
    });
    expect(killed).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect(readdirSync(path('killed'))).toEqual([]);
    const before = kept().length;
    expect(before).toBeGreaterThanOrEqual(6);
    const again = await run(shard);
    expect(again.code, again.stderr).toBe(0);
    const { shard: measured } = await readShardFile(path('killed/shard-1-of-2.jsonl'));
    const resumed = [...measured.units.values()].filter(
      (unit) => (unit as { resumed?: boolean }).resumed === true,
    );
    // f16 of the window that was cut runs again for its logits.
    expect(resumed.length).toBeGreaterThanOrEqual(before - 1);
    await run([...LONG, '--shard', '2/2', '--out', 'killed']);
    const merged = await run(['merge', 'killed', '--json']);
    const whole = await run([...LONG, '--json']);
    expect(timeless(merged.stdout)).toBe(timeless(whole.stdout));
    expect(kept()).toEqual([]);
  }, 60_000);

  test('two shards in processes of their own may share a cache', async () => {
    const shards = await Promise.all(
      [1, 2].map((index) =>
        runCli([...LONG, '--shard', `${index}/2`, '--out', 'both'], { directory, environment }),
      ),
    );
    for (const { code, stdout, stderr } of shards)
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' });
    const merged = await run(['merge', 'both', '--json']);
    const whole = await run([...LONG, '--json']);
    expect(timeless(merged.stdout)).toBe(timeless(whole.stdout));
    expect(kept()).toEqual([]);
  }, 60_000);

  test('Ctrl-C ends a shard with 130 and no file, and it goes on from there', async () => {
    const shard = [...COMMAND, '--shard', '1/1', '--out', 'stopped'];
    const stopped = await run(shard, {
      isTTY: true,
      interruptAt: (text) => text.includes('window 2/3 kivi-2bit-g32'),
    });
    expect(stopped).toMatchObject({ code: 130, stdout: '' });
    expect(stopped.stderr).toContain('the same command goes on from there.');
    expect(readdirSync(path('stopped'))).toEqual([]);
    expect((await run(shard)).code).toBe(0);
    const merged = reportOf((await run(['merge', 'stopped', '--json'])).stdout);
    expect(merged.resumed.rows.map(({ id, windows }) => [id, windows])).toEqual([
      ['f16', 1],
      ['kivi-2bit-g32', 1],
      ['oaken-sm', 1],
    ]);
  });
});
