// The files of deploy/: what they run is run here, through the real command, with what each engine sets.
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { evalReportSchema } from '@lowbit-kv/harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { installCommand, runProgram } from './support/installed-command.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const { directory, path } = workspace;
const deploy = fileURLToPath(new URL('../../../deploy', import.meta.url));
const textOf = (name: string) => readFileSync(join(deploy, name), 'utf8');

const SHARDS = 3;
const EVALUATED = '--scheme kivi-2bit-g32 innerq-base --windows 2 --window 200';
/** Rows of one process, without times. */
let whole: unknown;
let pathVariable = '';

function rowsOf(json: string): unknown {
  const report = evalReportSchema.parse(JSON.parse(json));
  return report.schemes.map((row) => ('rate' in row ? { ...row, rate: null } : row));
}

const rowsIn = (folder: string) => rowsOf(readFileSync(path(join(folder, 'report.json')), 'utf8'));

beforeAll(async () => {
  pathVariable = installCommand(directory);
  const args = ['--text', 'text.txt', ...EVALUATED.split(' '), '--json'];
  const { code, stdout, stderr } = await workspace.here('eval', args);
  expect(code, stderr).toBe(0);
  whole = rowsOf(stdout);
});

describe('slurm', () => {
  const environment = (more: Record<string, string>) => ({
    ...{ MODEL: 'model', TEXT: 'text.txt', OUT: 'slurm-shards', REPORT: 'slurm-report' },
    ...{ SHARDS: String(SHARDS), OPTIONS: EVALUATED, SLURM_CPUS_PER_TASK: '1' },
    ...more,
  });
  const task = (index: number | string) =>
    runProgram('bash', [join(deploy, 'slurm/shards.sh')], directory, {
      ...environment({ SLURM_ARRAY_TASK_ID: String(index) }),
      ...{ SLURM_ARRAY_TASK_COUNT: '1', SLURM_ARRAY_JOB_ID: '7' },
    });

  test('every task of the array is a shard, and merge.sh puts them together', async () => {
    for (let index = 1; index <= SHARDS; index++) {
      const { code, stdout, stderr } = await task(index);
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' });
    }
    expect(readdirSync(path('slurm-shards')).sort()).toEqual(
      [1, 2, 3].map((index) => `shard-${index}-of-3.jsonl`),
    );
    // Finished parts are beside the job, where every node finds them.
    expect(existsSync(path('cache/lowbit-kv/eval'))).toBe(true);
    const merged = await runProgram(
      ...(['bash', [join(deploy, 'slurm/merge.sh')], directory] as const),
      environment({ MERGE_OPTIONS: '--fail-if bits>16.5' }),
    );
    expect(merged.code, merged.stderr).toBe(0);
    expect(rowsIn('slurm-report')).toEqual(whole);
    const again = await task(2);
    expect(again.stderr).toContain('this shard is there already');
  }, 60_000);

  test('options of merge.sh are a gate', async () => {
    const { code, stderr } = await runProgram(
      ...(['bash', [join(deploy, 'slurm/merge.sh')], directory] as const),
      environment({ MERGE_OPTIONS: '--fail-if bits>4' }),
    );
    expect(code).toBe(3);
    expect(stderr).toContain('gate failed');
  });

  test('a task that counts from 0 is told, and so is one without an array', async () => {
    const zero = await task(0);
    expect(zero.code).toBe(1);
    expect(zero.stderr).toContain('valid: 1/3 to 3/3');
    const { code, stderr } = await runProgram(
      ...(['bash', [join(deploy, 'slurm/shards.sh')], directory] as const),
      environment({}),
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain('submit this with sbatch, as a job array');
  });

  test('as many tasks as shards', () => {
    const text = textOf('slurm/shards.sh');
    expect(text.match(/^#SBATCH --array=1-(\d+)$/m)?.[1]).toBe(
      text.match(/SHARDS="\$\{SHARDS:-(\d+)\}"/)?.[1],
    );
  });
});

interface Container {
  readonly command: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

describe('kubernetes', () => {
  const jobOf = (name: string) => {
    const documents = parseAllDocuments(textOf(`kubernetes/${name}`));
    expect(documents).toHaveLength(1);
    expect(documents[0]?.errors).toEqual([]);
    return documents[0]?.toJS();
  };
  const containerOf = (name: string) => jobOf(name).spec.template.spec.containers[0] as Container;
  /** The volume is a folder here. */
  const inVolume = (text: string) => text.replaceAll('/work', directory);

  /** Runs the container's command, with `more` in its environment. */
  function podOf(name: string, more: Record<string, string>) {
    const { command, args = [], env = [] } = containerOf(name);
    const [program = '', ...rest] = [...command, ...args].map(inVolume);
    const given = Object.fromEntries(env.map(({ name, value }) => [name, inVolume(value)]));
    const image = { PATH: pathVariable };
    return runProgram(program, rest, directory, { ...image, ...given, ...more });
  }

  test('every index of the Job is a shard, and the second Job merges them', async () => {
    const changed = { SHARDS: String(SHARDS), MODEL: path('model'), TEXT: path('text.txt') };
    for (let index = 0; index < SHARDS; index++) {
      const { code, stdout, stderr } = await podOf('job.yaml', {
        ...changed,
        ...{ OPTIONS: `${EVALUATED} --threads 1`, JOB_COMPLETION_INDEX: String(index) },
      });
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' });
    }
    const merged = await podOf('merge.yaml', {});
    expect(merged.code, merged.stderr).toBe(0);
    expect(rowsIn('report')).toEqual(whole);
  }, 60_000);

  test('is a Job of as many indexes as shards, whose pods share one volume', () => {
    const { apiVersion, kind, spec } = jobOf('job.yaml');
    expect({ apiVersion, kind }).toEqual({ apiVersion: 'batch/v1', kind: 'Job' });
    const { env = [], volumeMounts } = containerOf('job.yaml');
    expect(spec).toMatchObject({ completionMode: 'Indexed', completions: 8, parallelism: 8 });
    expect(env.find(({ name }) => name === 'SHARDS')?.value).toBe(String(spec.completions));
    const merging = jobOf('merge.yaml').spec.template.spec;
    expect(merging.volumes).toEqual(spec.template.spec.volumes);
    expect(containerOf('merge.yaml').volumeMounts).toEqual(volumeMounts);
    expect(merging.containers[0].image).toBe(spec.template.spec.containers[0].image);
  });
});

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

describe('github actions', () => {
  const { env, jobs } = parse(textOf('github-actions/shards.yml'));
  const stepOf = (job: string, name: string) =>
    (jobs[job].steps as Step[]).find((step) => step.name === name)?.run ?? '';
  /** What the runner puts in place of expressions. */
  const expanded = (text: string, values: Record<string, string>) =>
    text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`nothing sets ${name}`);
      return value;
    });
  const checkout = path('checkout');
  const runner = (script: string, more: Record<string, string> = {}) =>
    runProgram('bash', ['-e', '-c', script], checkout, {
      ...env,
      ...{ MODEL: 'model', TEXT: 'text.txt', OPTIONS: `${EVALUATED} --threads 1` },
      ...more,
    });

  beforeAll(() => {
    installCommand(checkout);
    for (const name of ['model', 'text.txt'])
      cpSync(path(name), join(checkout, name), { recursive: true });
  });

  test('every job of the matrix is a shard, and the last job merges and judges', async () => {
    const matrix: number[] = jobs.measure.strategy.matrix.shard;
    expect(matrix).toEqual([1, 2, 3, 4]);
    const workspaceOfRunner = { 'github.workspace': checkout };
    const cache = expanded(jobs.measure.env.XDG_CACHE_HOME, workspaceOfRunner);
    for (const shard of matrix) {
      const values = {
        'matrix.shard': String(shard),
        'strategy.job-total': String(matrix.length),
      };
      const script = expanded(stepOf('measure', 'Measure'), values);
      const { code, stdout, stderr } = await runner(script, { XDG_CACHE_HOME: cache });
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' });
    }
    expect(existsSync(join(checkout, 'cache/lowbit-kv/eval'))).toBe(true);
    const summary = join(checkout, 'summary.md');
    const judged = await runner(stepOf('merge', 'Merge and judge'), {
      GITHUB_STEP_SUMMARY: summary,
    });
    expect(judged.code, judged.stderr).toBe(0);
    expect(judged.stderr).toContain('gate passed');
    expect(readFileSync(summary, 'utf8')).toMatch(/^\| kivi-2bit-g32 +\|/m);
    expect(rowsIn('checkout/report')).toEqual(whole);
  }, 60_000);

  test('shards travel as artifacts of names that do not meet', () => {
    const artifacts = (job: string, action: string) =>
      (jobs[job].steps as Step[]).filter(({ uses }) => uses?.startsWith(action));
    const [upload] = artifacts('measure', 'actions/upload-artifact@');
    const [download] = artifacts('merge', 'actions/download-artifact@');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of the runner.
    expect(upload?.with).toMatchObject({ name: 'shard-${{ matrix.shard }}', path: 'shards/' });
    expect(download?.with).toMatchObject({
      ...{ pattern: 'shard-*', path: 'shards', 'merge-multiple': true },
    });
    expect(jobs.merge.needs).toBe('measure');
  });
});
