/**
 * SmolLM2-135M-Instruct answers with its keys and values in packed 4-bit blocks: on every backend the text of f16, token for
 * token.
 */
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { type Backend, createPlan, referenceBackend, type Scheme } from '@lowbit-kv/core';
import { F16 } from '@lowbit-kv/harness';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeBackend } from '../../backend-cuda/test/support/fake-backend.js';
import { buildGeneralKernels } from '../../backend-cuda/test/support/host/general-kernels.js';
import { buildHostKernels } from '../../backend-cuda/test/support/host/host-kernels.js';
import { compiler } from '../../backend-cuda/test/support/pack/host-program.js';
import { swiftShaderDevice } from '../../backend-webgpu/test/support/swiftshader.js';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import type { Decoder } from '../src/decoder/decoder.js';
import { generate } from '../src/generate/generate.js';
import { openTokenRun } from '../src/generate/token-run.js';
import { readChatTemplate, renderChat } from '../src/text/chat-template.js';
import { largestLogit } from '../src/text/sample.js';
import { modelFiles, modelFolder, modelTokenizer } from './support/real-model.js';

/** Longer than the windows of the scheme, so that most of it is packed. */
const QUESTION =
  `Read this. The Loire is the longest river in France. It rises in the mountains of the south-east, flows
north to Orleans and then west through Tours and Nantes, and reaches the Atlantic Ocean at the town of Saint-Nazaire. It
is 1006 kilometres long, and its basin covers more than a fifth of the country. The castles along its middle course were
built by kings and their courts in the fifteenth and sixteenth centuries, and the vineyards between them are older still.
In summer the river is shallow, and sandbanks divide it into many arms; in winter it floods the meadows, and the farmers
move their cattle to higher ground. Salmon once came up the river in great numbers, and people still talk about them. Now
answer: at which town does the Loire reach the Atlantic Ocean?`.replaceAll('\n', ' ');
const TOKENS = 9;
const SCHEME = kivi({ bits: 4 });

describe('the answer', () => {
  let decoder: Decoder;
  let prompt: readonly number[];
  let expected: readonly number[];

  beforeAll(async () => {
    decoder = await openCutDecoder(await modelFiles());
    const tokenizer = await modelTokenizer();
    const template = (await readChatTemplate(modelFolder())) ?? '';
    prompt = tokenizer.encode(renderChat(template, [{ role: 'user', content: QUESTION }]));
    expected = await answer(F16, referenceBackend());
    expect(tokenizer.decode(expected)).toBe('The Loire is the longest river in France');
  });

  afterAll(() => decoder.dispose());

  async function answer(scheme: Scheme, backend: Backend): Promise<number[]> {
    const run = await openTokenRun(decoder, createPlan(scheme, decoder.geometry), {
      backend,
      tokens: 256,
    });
    try {
      const options = { prompt, sampler: largestLogit, maxTokens: TOKENS, eosIds: [] };
      const tokens: number[] = [];
      for await (const { token } of generate(run, options)) tokens.push(token);
      const { sequences } = await run.stats();
      const packed = sequences[0]?.classes.map((one) => one.packed) ?? [];
      expect(packed.every((count) => count >= (scheme === F16 ? 0 : 64))).toBe(true);
      return tokens;
    } finally {
      await run.dispose();
    }
  }

  it('comes from the reference', async () => {
    expect(await answer(SCHEME, referenceBackend())).toEqual(expected);
  });

  it('comes from ONNX Runtime', async () => {
    expect(await answer(SCHEME, onnxBackend())).toEqual(expected);
  });

  it('comes from WebGPU on SwiftShader', async () => {
    const device = await swiftShaderDevice();
    expect(await answer(SCHEME, webgpuBackend({ device }))).toEqual(expected);
    device.destroy();
  });

  it.skipIf(compiler === undefined)("comes from CUDA's kernels on the fake driver", async () => {
    const libraries = [buildHostKernels(), buildGeneralKernels(undefined, ['-O1'])];
    const { backend, fake, launches } = fakeBackend(libraries.flatMap(({ kernels }) => kernels));
    expect(await answer(SCHEME, backend)).toEqual(expected);
    expect([...launches.values()].flat().length).toBeGreaterThan(0);
    backend.dispose();
    for (const library of libraries) library.remove();
    expect(fake.leaks()).toEqual([]);
  });
});
