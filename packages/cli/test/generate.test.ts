// `lowbit-kv generate`: the text, and what is said of it.
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import {
  openCutDecoder,
  openModelFiles,
  openTokenizer,
  openTokenRun,
  openUncut,
} from '@lowbit-kv/model-onnx';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { describe, expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import type { HereOptions } from './support/run-here.js';
import { CONTEXT, EOS, tinyModelFiles, VOCABULARY, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { cache, directory, here, path } = tinyWorkspace();
const TWO = 'kivi-2bit-g32';
const PROMPT = 'the river ran low';
/** What the chat template makes of it. */
const CHAT = `<|bos|><|turn|>user: ${PROMPT}\n<|turn|>assistant:`;

const generated = (args: readonly string[], options: HereOptions = {}) =>
  here('generate', ['--prompt', PROMPT, ...args], options);

async function textOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await generated(args);
  expect(code, stderr).toBe(0);
  return stdout;
}

const tokenizerOf = () => openTokenizer(path('model'));

function largest(logits: Float32Array): number {
  return logits.reduce((best, x, i) => (x > (logits[best] as number) ? i : best), 0);
}

/** Greedy tokens by a loop of this test, a cache step each. */
async function greedyTokens(prompt: string, count: number, bits: 2 | 4): Promise<number[]> {
  const decoder = await openCutDecoder(await openModelFiles(path('model')), { threads: 1 });
  const plan = createPlan(kivi({ bits, groupSize: 32 }), decoder.geometry);
  const run = await openTokenRun(decoder, plan, { backend: referenceBackend(), tokens: 512 });
  const tokens: number[] = [];
  let next = (await tokenizerOf()).encode(prompt);
  while (tokens.length < count) {
    await run.extend(next, {
      rows: 'last',
      onLogits: (_, logits) => {
        next = [largest(logits)];
      },
    });
    tokens.push(...next);
  }
  await run.dispose();
  await decoder.dispose();
  return tokens;
}

/** Greedy tokens of the model as it came, all of them again at each step. */
async function uncutTokens(prompt: string, count: number): Promise<number[]> {
  const uncut = await openUncut(await openModelFiles(path('model')), { threads: 1 });
  const given = (await tokenizerOf()).encode(prompt);
  const tokens = [...given];
  while (tokens.length < given.length + count) {
    let last = new Float32Array();
    await uncut.logits(tokens, (_, logits) => {
      last = logits.slice(-VOCABULARY);
    });
    tokens.push(largest(last));
  }
  await uncut.dispose();
  return tokens.slice(given.length);
}

describe('a greedy text', () => {
  test('is what a loop over the cache gives, written piece by piece', async () => {
    const { code, stdout, stderr, pieces } = await generated([
      ...['--scheme', TWO, '--max-tokens', '250'],
    ]);
    expect(code).toBe(0);
    const tokens = await greedyTokens(CHAT, 250, 2);
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
    const text = `${(await tokenizerOf()).decode(await uncutTokens(CHAT, 40))}\n`;
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
    const [own, f16] = [await greedyTokens(CHAT, 500 - prompt, 2), await uncutTokens(CHAT, 200)];
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
    [['--temperature', 'warm'], /temperature/],
    [['--top-p', '1.5'], /topP/],
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
      `${(await tokenizerOf()).decode(await greedyTokens(prompt, 12, 2))}\n`;
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

describe('the end', () => {
  test('a token that ends texts', async () => {
    const [first, second, ...rest] = await greedyTokens(CHAT, 60, 2);
    const other = rest.find((token) => token !== first && token !== second) as number;
    const tokens = [first, second, ...rest.slice(0, rest.indexOf(other) + 1)] as number[];
    await writeFiles(path('ends'), {
      ...tinyModelFiles(),
      'generation_config.json': JSON.stringify({ eos_token_id: [EOS, other] }),
    });
    const args = ['--model', 'ends', '--scheme', TWO];
    const { code, stdout, stderr } = await generated(args);
    expect(code).toBe(0);
    expect(stdout).toBe(`${(await tokenizerOf()).decode(tokens)}\n`);
    expect(stderr).toMatch(new RegExp(`^${tokens.length} tokens, .* \\(end of text\\)`, 'm'));
  });

  test('the context of the model', async () => {
    const prompt = (await tokenizerOf()).encode(CHAT).length;
    const room = CONTEXT - prompt;
    const { code, stdout, stderr } = await generated([
      ...['--scheme', TWO, '--max-tokens', String(room + 1)],
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('prompt and text do not fit the context of the model');
    expect(stderr).toContain(`Ask for at most ${room} tokens`);
    const long = await generated(['--scheme', TWO, '--prompt', 'low '.repeat(CONTEXT / 4)]);
    expect(long.stderr).toMatch(/do not fit the context[\s\S]*Shorten the prompt/);
  });

  test('an interruption: the text stays', async () => {
    const args = ['--scheme', TWO, '--max-tokens', '100', '--against-f16'];
    const { code, stdout, stderr, pieces } = await generated(args, {
      interruptAt: (text, stream) => stream === 'stdout' && text.includes('v'),
    });
    expect(code).toBe(130);
    expect(pieces.length).toBeGreaterThan(5);
    expect(stdout).toBe(`${(await textOf(...args)).slice(0, stdout.length - 1)}\n`);
    expect(stdout).toMatch(/v\n$/);
    expect(stderr).toMatch(/^\d+ tokens, .* \(interrupted\)/m);
    expect(stderr).toMatch(/^cache of \d+ tokens/m);
    expect(stderr).not.toContain('f16 gives');
  });

  test('an interruption of the comparison with f16', async () => {
    const args = ['--scheme', TWO, '--max-tokens', '100', '--against-f16'];
    const { code, stdout, stderr } = await generated(args, {
      interruptAt: (text, stream) => stream === 'stderr' && text.startsWith('cache of'),
    });
    expect(code).toBe(130);
    expect(stdout).toBe(await textOf(...args));
    expect(stderr).toMatch(/^100 tokens, [\s\S]*\nInterrupted\.\n$/m);
    expect(stderr).not.toContain('f16 gives');
  });

  test('Ctrl-C ends the process with 130, and the text stays', async () => {
    const args = ['generate', '--model', 'model', '--threads', '1', '--prompt', PROMPT];
    const { code, signal, stdout, stderr } = await runCli(
      [...args, '--scheme', 'f16', '--max-tokens', '2000'],
      {
        directory,
        environment: { XDG_CACHE_HOME: cache },
        interruptWhen: (text) => text.length > 3,
      },
    );
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    const [, tokens = ''] = /^(\d+) tokens, .* \(interrupted\)/m.exec(stderr) ?? [];
    expect(stdout).toBe(await textOf('--scheme', 'f16', '--max-tokens', tokens));
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
