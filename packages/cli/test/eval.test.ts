// `lowbit-kv eval`: the figures, and what they depend on.
import { evalReportSchema, type UnmeasuredRow } from '@lowbit-kv/harness';
import { openModelFiles, openUncut } from '@lowbit-kv/model-onnx';
import { describe, expect, test } from 'vitest';
import { builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { divergence, evaluations, measured, perplexity, windows } from './support/evaluations.js';
import { CONTEXT, VOCABULARY } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const TWO = 'kivi-2bit-g32';
const FOUR = 'kivi-4bit-g32';

const { evaluated, reported } = evaluations(workspace);

/** From the logits of the model as it came. */
async function plainPerplexity(count: number, windowTokens: number): Promise<number> {
  const tokens = await workspace.textTokens();
  const uncut = await openUncut(await openModelFiles(workspace.path('model')), { threads: 1 });
  let sum = 0;
  for (let window = 0; window < count; window++) {
    const part = tokens.slice(window * windowTokens, (window + 1) * windowTokens);
    await uncut.logits(part, (first, logits) => {
      const size = VOCABULARY;
      for (let row = 0; row < logits.length / size; row++) {
        const right = part[first + row + 1];
        if (right === undefined) continue;
        const of = logits.subarray(row * size, (row + 1) * size);
        sum += Math.log(of.reduce((total, x) => total + Math.exp(x), 0)) - (of[right] as number);
      }
    });
  }
  await uncut.dispose();
  return Math.exp(sum / (count * (windowTokens - 1)));
}

describe('the report', () => {
  test('perplexity of f16 is that of the model, and fewer bits are worse', async () => {
    const report = await reported('--scheme', TWO, FOUR, ...windows(2, 320));
    expect(report.schemes.map(({ id }) => id)).toEqual(['f16', TWO, FOUR]);
    const plain = await plainPerplexity(2, 320);
    expect(perplexity(report, 'f16') / plain).toBeCloseTo(1, 3);
    expect(measured(report, 'f16')).toMatchObject({
      bits: { stored: 16 },
      divergence: { mean: 0, p99: 0 },
      topAgreement: { mean: 1 },
    });
    expect(divergence(report, FOUR)).toBeGreaterThan(1e-5);
    expect(divergence(report, TWO)).toBeGreaterThan(5 * divergence(report, FOUR));
    const { stored, asymptotic } = measured(report, TWO).bits;
    expect(stored).toBeGreaterThan(asymptotic);
    expect(stored).toBeLessThan(measured(report, FOUR).bits.stored as number);
    expect(report).toMatchObject({
      model: { name: 'model', layers: 2, contextLimit: CONTEXT },
      text: { name: 'text.txt' },
      windows: { count: 2, windowTokens: 320, predictions: 2 * 319 },
      settings: { mode: 'replay', backend: 'reference', text: expect.stringMatching(/\\n/) },
      valid: true,
    });
  });

  test('as text, and as Markdown', async () => {
    const args = ['--scheme', TWO, ...windows(1, 200)];
    const text = await evaluated(args);
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/^f16 +16\.00 +\d+\.\d+ \+- .* baseline$/m);
    expect(text.stdout).toMatch(/^kivi-2bit-g32 +\d\.\d\d +\d+\.\d+ \+- /m);
    expect(text.stdout).toMatch(
      /^kivi-2bit-g32: usable with care: KL 0\.0\d+ at positions 128 to 199 /m,
    );
    const markdown = await evaluated([...args, '--markdown']);
    expect(markdown.stdout).toMatch(/^\| f16 +\| 16\.00 \| /m);
    expect(markdown.stdout).toMatch(/^\| kivi-2bit-g32 \| /m);
  });

  test('a row that cannot be planned is refused with its reason; none at all fails', async () => {
    const { code, stdout, stderr } = await evaluated([
      ...['--scheme', 'kivi-2bit-g64', '--json'],
      ...windows(1, 64),
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('No scheme could be measured');
    const [, refused] = evalReportSchema.parse(JSON.parse(stdout)).schemes;
    expect(refused).toMatchObject({ status: 'refused', code: 'SHAPE_UNSUPPORTED' });
    expect((refused as UnmeasuredRow).verdict.reason).toContain('group size');
  });

  test('--all has a row for every preset, measured or with the reason why not', async () => {
    const report = await reported('--all', ...windows(1, 150), '--calibration-tokens', '150');
    const presets = await builtinSchemes();
    expect(report.schemes.map(({ id }) => id)).toEqual([
      'f16',
      ...presets.map(({ scheme }) => scheme.id),
    ]);
    const reasons = report.schemes.flatMap((row) =>
      row.status === 'measured' ? [] : [`${row.id}: ${row.verdict.reason}`],
    );
    expect(report.schemes.length - reasons.length).toBeGreaterThan(20);
    // The heads of this model are narrow.
    for (const reason of reasons) expect(reason).toMatch(/head dim|group size|channels/i);
  });

  test('progress on a terminal has the rate and the time left, and is gone at the end', async () => {
    const args = ['--scheme', FOUR, ...windows(2, 64)];
    const { stderr } = await evaluated(args, { isTTY: true });
    const status = '\r\u001b\\[2K';
    for (const row of ['uncut', 'f16', FOUR])
      expect(stderr).toMatch(new RegExp(`${status}window 2/2 ${row}: \\d+ tokens/s, \\d+ s left`));
    expect(stderr.endsWith('\r\u001b[2K')).toBe(true);
    expect((await evaluated(args)).stderr).not.toContain('tokens/s');
  });
});

describe('ways to run it', () => {
  test('replay, decoding and past injection agree', async () => {
    const args = ['--scheme', TWO, ...windows(1, 200)];
    const replay = await reported(...args);
    const decode = await reported(...args, '--mode', 'decode');
    const injected = await reported(...args, '--attention', 'past-injection');
    expect(decode.settings.mode).toBe('decode');
    expect(injected.settings.attention).toContain('past-injection');
    expect(divergence(replay, TWO)).toBeGreaterThan(1e-3);
    for (const report of [decode, injected]) {
      for (const id of ['f16', TWO])
        expect(perplexity(report, id) / perplexity(replay, id)).toBeCloseTo(1, 4);
      expect(divergence(report, TWO) / divergence(replay, TWO)).toBeCloseTo(1, 1);
    }
    expect(measured(decode, TWO).noise.worstLayer).not.toBeNull();
    expect(measured(injected, TWO).noise.worstLayer).toBeNull();
  });

  test('packed by the ONNX backend the figures are the same', async () => {
    const args = ['--scheme', TWO, ...windows(1, 200)];
    const [reference, onnx] = [
      await reported(...args),
      await reported(...args, '--backend', 'onnx'),
    ];
    expect(onnx.settings.backend).toBe('onnx');
    expect(divergence(onnx, TWO)).toBe(divergence(reference, TWO));
    expect(measured(onnx, TWO).noise).toEqual(measured(reference, TWO).noise);
  });

  test('--stress leaves f16 where it was and finds schemes out', async () => {
    const args = ['--scheme', TWO, ...windows(1, 320)];
    const mild = await reported(...args);
    const hard = await reported(...args, '--stress', 'value-mean:10', 'key-scale:16');
    expect(hard.settings.stress).toBe('value-mean:10, key-scale:16');
    expect(perplexity(hard, 'f16') / perplexity(mild, 'f16')).toBeCloseTo(1, 3);
    expect(divergence(hard, TWO)).toBeGreaterThan(3 * divergence(mild, TWO));
  });

  test.each([
    [['--stress', 'key-mean:0'], /no such stress lens.*key-mean:0/],
    [['--stress', 'key-mean:5', '--attention', 'past-injection'], /stress lenses/],
  ])('%j is refused', async (more, message) => {
    const { code, stdout, stderr } = await evaluated([...more, '--scheme', TWO, ...windows(1, 64)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('--prompt-tokens changes what takes statistics of the prompt, and nothing else', async () => {
    const args = ['--scheme', 'innerq-small', TWO, ...windows(1, 200)];
    const usual = await reported(...args);
    const long = await reported(...args, '--prompt-tokens', '250');
    expect(long.settings.promptTokens).toBe('250');
    expect(usual.settings).not.toHaveProperty('promptTokens');
    const [before, after] = [measured(usual, 'innerq-small'), measured(long, 'innerq-small')];
    expect(after.fingerprint).not.toBe(before.fingerprint);
    // Keys are not packed before the statistics are there, and the window is shorter.
    expect(before.noise.worstKeys.nmse).toBeGreaterThan(1e-3);
    expect(after.noise.worstKeys.nmse).toBeLessThan(1e-6);
    expect(after.bits.stored).toBeGreaterThan(before.bits.stored as number);
    expect(measured(long, TWO).fingerprint).toBe(measured(usual, TWO).fingerprint);
    expect(divergence(long, TWO)).toBe(divergence(usual, TWO));
  });

  test('--retrieval scores the pass key at every depth', async () => {
    const { retrieval } = await reported('--scheme', TWO, ...windows(1, 64), '--retrieval', '400');
    expect(retrieval?.prompts.map(({ depth }) => depth)).toEqual([0, 25, 50, 75, 100]);
    for (const { contextTokens } of retrieval?.prompts ?? []) {
      expect(contextTokens).toBeGreaterThan(330);
      expect(contextTokens).toBeLessThanOrEqual(400);
    }
    const [f16, scheme] = retrieval?.rows ?? [];
    expect([f16?.id, scheme?.id]).toEqual(['f16', TWO]);
    for (const { logProbability, change } of scheme?.answers ?? []) {
      expect(logProbability).toBeLessThan(-1);
      expect(change).not.toBe(0);
    }
  });
});
