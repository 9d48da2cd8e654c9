// `lowbit-kv eval` with schemes that are calibrated: on which tokens, and on which not.
import { type EvalRow, evalReportSchema } from '@lowbit-kv/harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { tinyModelFiles, tinyText, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { directory, here, path } = tinyWorkspace();
const SCHEME = 'oaken-sm';
const WINDOWS = ['--windows', '2', '--window', '100'];

const evaluated = (...args: string[]) =>
  here('eval', ['--text', 'text.txt', '--scheme', SCHEME, ...WINDOWS, ...args]);

async function calibrated(out: string, ...args: string[]): Promise<string> {
  const { code, stderr } = await here('calibrate', [
    ...['--scheme', SCHEME, '--text', 'text.txt', '--tokens', '150', '--out', out],
    ...args,
  ]);
  expect(code, stderr).toBe(0);
  return out;
}

async function rowOf(...args: string[]): Promise<{ row: EvalRow | undefined; stderr: string }> {
  const { stdout, stderr } = await evaluated(...args, '--json');
  return { row: evalReportSchema.parse(JSON.parse(stdout)).schemes[1], stderr };
}

describe('measured on the way', () => {
  test('on the tokens after the windows, as stderr and the row say', async () => {
    const { row, stderr } = await rowOf('--calibration-tokens', '150');
    expect(stderr).toContain(
      `${SCHEME} is calibrated on tokens 200 to 349 of text.txt, which are not evaluated`,
    );
    expect(row).toMatchObject({
      status: 'measured',
      calibration: expect.stringMatching(/firstToken 200, tokens 150/),
    });
    // The same as a file of these tokens.
    const file = await calibrated('after.json', '--first-token', '200');
    const other = await rowOf('--calibration', file);
    expect(other.stderr).not.toContain('is calibrated on');
    expect(other.row).toMatchObject({
      perplexity: (row as { perplexity: unknown }).perplexity,
      divergence: (row as { divergence: unknown }).divergence,
    });
  });

  test('too few tokens: the row is refused with the reason', async () => {
    const { code, stdout, stderr } = await evaluated('--scheme', 'kivi-4bit-g32');
    expect(code).toBe(0);
    expect(stderr).toMatch(/text\.txt has 3\d\d\d tokens after the windows, too few.*oaken-sm/);
    expect(stdout).toMatch(/^oaken-sm +refused/m);
    expect(stdout).toMatch(/^oaken-sm: refused: .*calibration/m);
    expect(stdout).toMatch(/^kivi-4bit-g32 +\d/m);
  });

  test('past injection shows no keys to calibrate on', async () => {
    const { row } = await rowOf('--attention', 'past-injection', '--calibration-tokens', '150');
    expect(row).toMatchObject({ status: 'refused', code: 'CALIBRATION_MISSING' });
  });
});

describe('from a file', () => {
  beforeAll(() => writeFiles(directory, { 'other.txt': tinyText(2) }));

  test('on evaluated tokens it is refused, unless it is wanted', async () => {
    const first = await calibrated('first.json');
    const { code, stdout, stderr } = await evaluated('--calibration', first);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /OPTION_INVALID: oaken-sm was calibrated on tokens that it would be evaluated on/,
    );
    expect(stderr).toMatch(/from 200 on[\s\S]*--allow-calibrated-text/);
    const { row } = await rowOf('--calibration', first, '--allow-calibrated-text');
    expect(row?.status).toBe('measured');
    // One token before the end of the windows, and the one after.
    const last = await calibrated('last.json', '--first-token', '199');
    expect((await evaluated('--calibration', last)).code).toBe(1);
  });

  test('on another text it is taken', async () => {
    const file = await calibrated('other.json', '--text', 'other.txt');
    const { row } = await rowOf('--calibration', file);
    expect(row).toMatchObject({
      status: 'measured',
      calibration: expect.stringMatching(/text other\.txt/),
    });
  });

  test('of another model it is taken, and that is said, also where a text is generated', async () => {
    await writeFiles(path('model-2'), tinyModelFiles({ seed: 6 }));
    const args = ['--first-token', '200', '--model', 'model-2'];
    const file = await calibrated('model-2.json', ...args);
    const said = /oaken-sm was calibrated on another model file: model-2 \([0-9a-f]{12}\)/;
    const { row, stderr } = await rowOf('--calibration', file);
    expect(row?.status).toBe('measured');
    expect(stderr).toMatch(said);
    const work = ['--prompt', 'low', '--max-tokens', '2', '--scheme', SCHEME];
    const generated = await here('generate', [...work, '--calibration', file]);
    expect(generated.code).toBe(0);
    expect(generated.stderr).toMatch(said);
    const own = await here('generate', [...work, '--calibration', file, '--model', 'model-2']);
    expect(own.stderr).not.toContain('another model');
  });

  test('of other schemes, or none, is refused', async () => {
    const mixed = await calibrated('mixed.json', '--scheme', 'oaken-mm');
    const { code, stderr } = await evaluated('--calibration', mixed);
    expect(code).toBe(1);
    expect(stderr).toMatch(/CALIBRATION_INVALID: a calibration belongs to none of the chosen/);
    const missing = await evaluated('--calibration', 'nowhere.json');
    expect(missing.stderr).toMatch(/CALIBRATION_INVALID: the calibration file cannot be read/);
  });
});
