// `lowbit-kv generate`: the text, and what is said of it.
import { openTokenizer } from '@lowbit-kv/model-onnx';
import { describe, expect, test } from 'vitest';
import { CHAT, generations, PROMPT } from './support/generations.js';
import { greedyTokens, uncutTokens } from './support/greedy-tokens.js';
import { tinyModelFiles, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const { here, path } = workspace;
const TWO = 'kivi-2bit-g32';
const { generated, textOf } = generations(workspace);

const tokenizerOf = () => openTokenizer(path('model'));

describe('a greedy text', () => {
  test('is what a loop over the cache gives, written piece by piece', async () => {
    const { code, stdout, stderr, pieces } = await generated([
      ...['--scheme', TWO, '--max-tokens', '250'],
    ]);
    expect(code).toBe(0);
    const tokens = await greedyTokens(workspace, CHAT, 250);
    expect(stdout).toBe(`${(await tokenizerOf()).decode(tokens)}\n`);
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(200);
    const prompt = (await tokenizerOf()).encode(CHAT).length;
    expect(stderr).toMatch(
      new RegExp(
        `^250 tokens, [\\d.]+ tokens/s \\(--max-tokens\\); prompt of ${prompt} tokens`,
        'm',
      ),
    );
    // The last token is not in the cache; 2 layers of 2 heads of 32 channels, keys and values, 2 bytes.
    const held = prompt + 249;
    const f16 = held * 2 * 2 * 32 * 2 * 2;
    const [, own, times] =
      /cache of \d+ tokens: ([\d.]+) MB.*f16 would take [\d.]+ MB, ([\d.]+) times/.exec(stderr) ??
      [];
    expect(stderr).toContain(`cache of ${held} tokens`);
    expect(stderr).toContain(`f16 would take ${(f16 / 1e6).toFixed(2)} MB`);
    expect(Number(times)).toBeGreaterThan(1.5);
    expect(Number(own) * Number(times)).toBeCloseTo(f16 / 1e6, 1);
  });

  test('under f16 is that of the model itself, cut or not', async () => {
    const text = `${(await tokenizerOf()).decode(await uncutTokens(workspace, CHAT, 40))}\n`;
    const args = ['--scheme', 'f16', '--max-tokens', '40'];
    expect(await textOf(...args)).toBe(text);
    const injected = await generated([...args, '--attention', 'past-injection']);
    expect(injected.stdout).toBe(text);
  });

  test('is the same through the ONNX backend, and without cutting', async () => {
    const args = ['--scheme', 'kivi-4bit-g32', '--max-tokens', '150'];
    const text = await textOf(...args);
    expect(await textOf(...args, '--backend', 'onnx')).toBe(text);
    const injected = await generated([...args, '--attention', 'past-injection']);
    expect(injected.stdout).toBe(text);
  });

  test('--against-f16 says that nothing differs, or where and how close it was', async () => {
    const prompt = (await tokenizerOf()).encode(CHAT).length;
    const short = await generated(['--scheme', TWO, '--max-tokens', '10', '--against-f16']);
    expect(short.stderr).toContain('f16 gives the same tokens.');

    const args = ['--scheme', TWO, '--max-tokens', String(500 - prompt), '--against-f16'];
    const { code, stderr } = await generated(args);
    expect(code).toBe(0);
    const [own, f16] = [
      await greedyTokens(workspace, CHAT, 500 - prompt),
      await uncutTokens(workspace, CHAT, 200),
    ];
    const equal = f16.findIndex((token, i) => token !== own[i]);
    expect(equal).toBeGreaterThan(20);
    const tokenizer = await tokenizerOf();
    const shown = (tokens: readonly number[]) => {
      const text = JSON.stringify(tokenizer.decode([tokens[equal] as number]));
      return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    };
    const [, likely, unlikely] =
      new RegExp(
        `the same first ${equal} tokens, then ${shown(f16)} \\(probability in f16 ([\\d.]+)\\) in place of ${shown(own)} \\(probability in f16 ([\\d.]+)\\)`,
      ).exec(stderr) ?? [];
    expect(Number(likely)).toBeGreaterThan(Number(unlikely));
    expect(Number(unlikely)).toBeGreaterThan(0);
  });
});

describe('a drawn text', () => {
  const drawn = (...args: string[]) =>
    textOf('--scheme', TWO, '--max-tokens', '30', '--temperature', '1', ...args);

  test('is the same for a seed and another for another', async () => {
    const text = await drawn('--seed', '7');
    expect(await drawn('--seed', '7')).toBe(text);
    expect(await drawn('--seed', '8')).not.toBe(text);
    const greedy = await textOf('--scheme', TWO, '--max-tokens', '30');
    expect(text).not.toBe(greedy);
    expect(await drawn('--top-k', '1')).toBe(greedy);
    expect(await drawn('--top-p', '1e-6')).toBe(greedy);
  });

  test.each([
    [['--temperature', '1', '--top-p', '1.5'], /topP/],
    [['--top-p', '0.9'], /nothing is drawn at temperature 0.*field "topP"/],
    [['--seed', '3', '--temperature', '0'], /nothing is drawn at temperature 0/],
    [['--seed', '4294967296'], /seed/],
    [['--temperature', '1', '--against-f16'], /a drawn text has no f16 text/],
  ])('%j is refused before the model is looked for', async (args, message) => {
    const all = ['--scheme', TWO, '--model', 'nowhere', ...args];
    const { code, stdout, stderr } = await generated(all);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/OPTION_INVALID/);
    expect(stderr).toMatch(message);
  });
});

describe('the prompt', () => {
  test('goes through the chat template, with a system message, or as it is', async () => {
    const decoded = async (prompt: string) =>
      `${(await tokenizerOf()).decode(await greedyTokens(workspace, prompt, 12))}\n`;
    const args = ['--scheme', TWO, '--max-tokens', '12'];
    const system = 'be brief';
    expect(await textOf(...args, '--system', system)).toBe(
      await decoded(CHAT.replace('<|turn|>', `<|turn|>system: ${system}\n<|turn|>`)),
    );
    expect(await textOf(...args, '--raw')).toBe(await decoded(`<|bos|>${PROMPT}`));
  });

  test('a system message needs a template', async () => {
    await writeFiles(path('plain'), tinyModelFiles({ chat: false }));
    const args = ['--scheme', TWO, '--max-tokens', '3'];
    for (const more of [['--raw'], ['--model', 'plain']]) {
      const { code, stderr } = await generated([...args, '--system', 'be brief', ...more]);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /OPTION_INVALID: a prompt without chat template has no system message/,
      );
    }
    const [raw, plain] = [
      await textOf(...args, '--raw'),
      await textOf(...args, '--model', 'plain'),
    ];
    expect(plain).toBe(raw);
  });
});

describe('the scheme', () => {
  test.each([
    [
      ['--scheme', 'kivi'],
      /OPTION_INVALID: a text is generated with one scheme[\s\S]*kivi-2bit-g32/,
    ],
    [['--scheme', 'oaken-sm'], /CALIBRATION_MISSING/],
    [['--scheme', 'kivi-2bit-g64'], /SHAPE_UNSUPPORTED/],
    [['--scheme', 'nothing'], /SCHEME_NOT_FOUND/],
  ])('%j is refused', async (args, message) => {
    const { code, stdout, stderr } = await generated(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('with a calibration', async () => {
    const measure = ['--scheme', 'oaken-sm', '--text', 'text.txt', '--tokens', '150'];
    expect((await here('calibrate', [...measure, '--out', 'oaken.json'])).code).toBe(0);
    const args = ['--scheme', 'oaken-sm', '--calibration', 'oaken.json', '--max-tokens', '60'];
    const { code, stdout, stderr } = await generated(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\S{30,}/);
    expect(stderr).toMatch(/f16 would take .* (1\.[5-9]|2\.)\d* times as much/);
  });
});
