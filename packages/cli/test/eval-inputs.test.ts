// `lowbit-kv eval`: texts and models that are taken, and those that are not.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { evaluations, perplexity, windows } from './support/evaluations.js';
import { CONTEXT, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const TWO = 'kivi-2bit-g32';
const { evaluated, reported } = evaluations(workspace);

describe('the text', () => {
  test('line ends of any kind, and a byte order mark, give the same tokens', async () => {
    const crlf = await readFile(workspace.path('text.txt'), 'utf8');
    expect(crlf).toContain('\r\n');
    const lf = crlf.replaceAll('\r\n', '\n');
    await writeFiles(workspace.directory, {
      'lf.txt': lf,
      'cr.txt': lf.replaceAll('\n', '\r'),
      'bom.txt': `\ufeff${crlf}`,
    });
    const args = ['--scheme', TWO, ...windows(1, 200)];
    const report = await reported(...args);
    for (const name of ['lf.txt', 'cr.txt', 'bom.txt']) {
      const other = await reported(...args, '--text', name);
      expect(other.windows.tokensSha256).toBe(report.windows.tokensSha256);
      expect(other.text.tokens).toBe(report.text.tokens);
      expect(other.text.sha256).toBe(report.text.sha256);
      expect(perplexity(other, TWO)).toBe(perplexity(report, TWO));
    }
  });

  test.each<[string, readonly string[], RegExp]>([
    ['missing', ['--text', 'nowhere.txt'], /OPTION_INVALID: the text cannot be read.*nowhere\.txt/],
    ['empty', ['--text', 'empty.txt'], /OPTION_INVALID: the text has no tokens.*empty\.txt/],
    ['not UTF-8', ['--text', 'latin1.txt'], /OPTION_INVALID: the text is not UTF-8.*latin1\.txt/],
    [
      'too short',
      windows(50, 320),
      /too short for 50 windows.*got 4\d\d\d[\s\S]*at most 12 windows/,
    ],
    [
      'shorter than the context',
      windows(1, CONTEXT + 1),
      /longer than the context.*2 to 2048 tokens/,
    ],
  ])('%s', async (_, more, message) => {
    await writeFiles(workspace.directory, {
      'empty.txt': '',
      'latin1.txt': Buffer.from('caf\xe9', 'latin1'),
    });
    const { code, stdout, stderr } = await evaluated(['--scheme', TWO, ...more]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('the model', () => {
  test.each<[string, RegExp]>([
    ['nowhere', /MODEL_INVALID: there is no such model.*got "nowhere"/],
    ['./some/where', /MODEL_INVALID: there is no such model/],
    ['cache', /MODEL_INVALID: there is no model\.onnx/],
  ])('%s', async (model, message) => {
    await writeFiles(workspace.cache, { 'config.json': '{}' });
    const { code, stderr } = await evaluated(['--model', model]);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  test('of several files one is named', async () => {
    const model = await readFile(workspace.path('model/onnx/model.onnx'));
    const files = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];
    for (const file of files)
      await writeFiles(workspace.path('several'), {
        [file]: await readFile(workspace.path(`model/${file}`)),
      });
    await writeFiles(workspace.path('several'), {
      'onnx/model_a.onnx': model,
      'onnx/model_b.onnx': Uint8Array.of(1, 2, 3),
    });
    const args = ['--model', 'several', '--scheme', TWO, ...windows(1, 64)];
    const { code, stderr } = await evaluated(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/several model files.*model_a\.onnx.*model_b\.onnx/);
    const report = await reported(...args, '--model-file', 'model_a');
    expect(report.model.fingerprint).toBe(
      (await reported('--scheme', TWO, ...windows(1, 64))).model.fingerprint,
    );
  });
});

test('a cache that cannot be written to is told before anything is measured', async () => {
  const args = ['--scheme', TWO, ...windows(1, 200)];
  const environment = { XDG_CACHE_HOME: '/dev/null' };
  const { code, stdout, stderr } = await evaluated(args, { environment });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/OPTION_INVALID: finished parts cannot be kept in \/dev\/null/);
  expect(stderr).toContain('Set XDG_CACHE_HOME');
});

test('f16 may be named, alone or beside schemes', async () => {
  const alone = await reported('--scheme', 'f16', ...windows(1, 200));
  expect(alone.schemes.map(({ id }) => id)).toEqual(['f16']);
  const both = await reported('--scheme', 'f16', TWO, ...windows(1, 200));
  expect(both.schemes.map(({ id }) => id)).toEqual(['f16', TWO]);
  expect(perplexity(alone, 'f16')).toBe(perplexity(both, 'f16'));
});
