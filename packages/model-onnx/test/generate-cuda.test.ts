/**
 * Generation through the CUDA backend on its fake driver: packing runs the kernels' own text on the host.
 */
import { type Backend, createPlan, referenceBackend } from '@lowbit-kv/core';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APPEND_INSTANCES } from '../../backend-cuda/src/instances.js';
import { fakeBackend } from '../../backend-cuda/test/support/fake-backend.js';
import {
  buildHostKernels,
  type HostKernels,
} from '../../backend-cuda/test/support/host/host-kernels.js';
import { compiler } from '../../backend-cuda/test/support/pack/host-program.js';
import {
  type Decoder,
  generate,
  largestLogit,
  openCutDecoder,
  openTokenRun,
} from '../src/index.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { modelBytes } from './support/graph-writer.js';
import { seededRandom } from './support/random.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const SCHEME = kivi({ bits: 4, groupSize: 32 });
/** Of this scheme and head dim. */
const APPENDING = 'append_k4t32z_d64_v4c32z_d64';
const PROMPT_TOKENS = 140;
const NEW_TOKENS = 40;

describe.skipIf(compiler === undefined)('generation through CUDA', () => {
  let host: HostKernels;
  let decoder: Decoder;

  beforeAll(async () => {
    host = buildHostKernels(APPEND_INSTANCES.filter(({ name }) => name === APPENDING));
    const sizes = { headDim: 64, positions: 256 };
    const { model } = tinyDecoder(groupQuery({ bias: true }), { sizes, seed: 3 });
    decoder = await openCutDecoder(modelFromBytes({ model: modelBytes(model) }), { threads: 1 });
  }, 120_000);

  afterAll(async () => {
    host.remove();
    await decoder.dispose();
  });

  async function generatedOn(backend: Backend) {
    const tokens = PROMPT_TOKENS + NEW_TOKENS;
    const run = await openTokenRun(decoder, createPlan(SCHEME, decoder.geometry), {
      backend,
      tokens,
    });
    const random = seededRandom(11);
    const prompt = Array.from({ length: PROMPT_TOKENS }, () => Math.floor(Math.abs(random()) * 28));
    const options = { prompt, sampler: largestLogit, maxTokens: NEW_TOKENS, eosIds: [] };
    const chosen: number[] = [];
    const logits: number[] = [];
    for await (const step of generate(run, options)) {
      chosen.push(step.token);
      logits.push(...step.logits);
    }
    const [sequence] = (await run.stats()).sequences;
    await run.dispose();
    return { chosen, logits, classes: sequence?.classes };
  }

  it('gives the same tokens as the reference', async () => {
    const reference = await generatedOn(referenceBackend());
    expect(new Set(reference.chosen).size).toBeGreaterThan(3);
    for (const tensor of ['key', 'value'])
      expect(reference.classes?.find((one) => one.tensor === tensor)?.packed).toBeGreaterThan(10);

    const { fake, backend, launches } = fakeBackend(host.kernels);
    const cuda = await generatedOn(backend);
    expect(cuda.chosen).toEqual(reference.chosen);
    expect(cuda.classes).toEqual(reference.classes);
    const worst = cuda.logits.reduce(
      (most, x, i) => Math.max(most, Math.abs(x - (reference.logits[i] as number))),
      0,
    );
    expect(worst).toBeLessThan(1e-3);
    const used = [...launches].filter(([, made]) => made.length > 0);
    // The prompt and all tokens but the last, in two layers each, by the kernel that is made for the scheme.
    expect(used.map(([name, made]) => [name, made.length])).toEqual([
      ['attend_k4t32z_v4c32z_d64_h4', 2 * NEW_TOKENS],
    ]);
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  });
});
