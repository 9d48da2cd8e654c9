// Kernels with a mistake in them: each must come out different from the reference, so the comparison sees such mistakes.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Packing } from '../src/instances.js';
import {
  buildHostProgram,
  compiler,
  type HostProgram,
  kernelFolder,
} from './support/pack/host-program.js';
import { type Instance, instanceLine } from './support/pack/instances.js';
import { differenceOf, type LaunchShape, launchOf } from './support/pack/launches.js';

interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly mistake: string;
  readonly instance: Instance;
  readonly kind?: string;
  readonly packs?: LaunchShape['packs'];
}

const keys = (packing: Packing, groupSize = 32): Instance => ({
  tensor: 'key',
  bits: 4,
  along: 'tokens',
  groupSize,
  headDim: 64,
  packing,
});
const values = (packing: Packing): Instance => ({
  ...keys(packing),
  tensor: 'value',
  along: 'channels',
});
const ASYMMETRIC: Packing = { mode: 'asymmetric' };
const SIGNMAG: Packing = { mode: 'symmetric', codes: 'signmag' };
const FULL: Packing = { mode: 'symmetric', codes: 'full' };
const FULL_SIGNED: Packing = { mode: 'symmetric', codes: 'fullSigned' };
const HYBRID: Packing = { mode: 'hybrid', codes: 'full', asymmetricBits: 4, tie: 'symmetric' };
const ONE_TOKEN = [{ slot: 77, count: 1, windowed: 0 }];

const mutants: readonly Mutant[] = [
  {
    name: 'ties go up',
    file: 'quantize.cuh',
    text: '(error == -half && odd)',
    mistake: '(error == -half && !odd)',
    instance: keys(ASYMMETRIC),
    kind: 'ties over the minimum',
  },
  {
    name: 'ties below zero go down',
    file: 'quantize.cuh',
    text: '(error == half && odd)',
    mistake: '(error == half && !odd)',
    instance: keys(SIGNMAG),
    kind: 'ties around zero',
  },
  {
    name: 'ties are not looked at',
    file: 'pack-codes.cuh',
    text: 'if (up != down || special)',
    mistake: 'if (special)',
    instance: values(ASYMMETRIC),
    kind: 'ties over the minimum',
  },
  {
    name: 'no room around the reciprocal',
    file: 'quantize.cuh',
    text: 'constexpr uint32_t SLACK = 4;',
    mistake: 'constexpr uint32_t SLACK = 0;',
    instance: keys(ASYMMETRIC),
    kind: 'ties over the minimum',
  },
  {
    name: 'the scale before it is rounded',
    file: 'quantize.cuh',
    text: 'return Parameters{storedScale(productOf(width < 0.0f ? 0.0f : width, 1.0f / TOP)), zero};',
    mistake: 'return Parameters{storedScale(productOf(width, 1.0f / (TOP + 0.01f))), zero};',
    instance: keys(ASYMMETRIC, 128),
  },
  {
    name: 'subnormal scales',
    file: 'quantize.cuh',
    text: 'magnitude < HALF_SMALLEST_NORMAL ? HALF_SMALLEST_NORMAL : magnitude',
    mistake: 'magnitude',
    instance: values(FULL),
    kind: 'subnormal',
  },
  {
    name: 'minus zero as a zero',
    file: 'quantize.cuh',
    text: 'if (magnitude == 0) return 0;\n  return (bits & HALF_SIGN) | (magnitude >',
    mistake: 'return (bits & HALF_SIGN) | (magnitude >',
    instance: keys(ASYMMETRIC),
    kind: 'zeros of both signs',
  },
  {
    name: 'the steps of the next group',
    file: 'pack-tile.cuh',
    text: 'token / GROUP * OTHERS + channel :',
    mistake: '(token / GROUP + 1) % GROUPS * OTHERS + channel :',
    instance: keys(ASYMMETRIC),
  },
  {
    name: 'the measure of the next patch',
    file: 'pack-measure.cuh',
    text: 'high = largerPair(high, parts[i]);',
    mistake: 'high = largerPair(high, parts[i + 1]);',
    instance: values(ASYMMETRIC),
  },
  {
    name: 'a patch that is not measured',
    file: 'pack-measure.cuh',
    text: 'for (int i = 1; i < Tile::PATCH_ROWS; ++i) {\n        const uint32_t pair = chunks[i]',
    mistake:
      'for (int i = 2; i < Tile::PATCH_ROWS; ++i) {\n        const uint32_t pair = chunks[i]',
    instance: keys(FULL),
  },
  {
    name: 'fields swapped',
    file: 'pack-codes.cuh',
    text: 'const int shift = 8 * j + BITS * f;',
    mistake: 'const int shift = 8 * j + BITS * (FIELDS - 1 - f);',
    instance: keys(ASYMMETRIC),
  },
  {
    name: 'tokens of values in their order',
    file: 'pack-codes.cuh',
    text: 'const int place = Tile::IS_KEY ? j % 2 : j / 2;',
    mistake: 'const int place = j % 2;',
    instance: values(ASYMMETRIC),
  },
  {
    name: 'open codes without their bias',
    file: 'pack-codes.cuh',
    text: ' + Codes::biasOf(Codes::isAsymmetric(step));',
    mistake: ';',
    instance: values(SIGNMAG),
    kind: 'ties around zero',
  },
  {
    name: 'codes of 3 bits not spread',
    file: 'pack-codes.cuh',
    text: 'return (word >> 2 * part & 0x03030303u) << 6;',
    mistake: 'return (word >> 2 * part & 0x01010101u) << 6;',
    instance: { ...values(FULL), bits: 3 },
  },
  {
    name: 'what is spread goes to the next word',
    file: 'pack-codes.cuh',
    text: 'half / 4 * 3 + part, laneOfPage',
    mistake: 'half / 4 * 3 + 2 - part, laneOfPage',
    instance: { ...keys(FULL), bits: 3 },
  },
  {
    name: 'bits above fields of 3 bits',
    file: 'pack-codes.cuh',
    text: '(vector.words[part] & 0x01010101u * BYTE_MASK) |',
    mistake: 'vector.words[part] |',
    instance: { ...keys(ASYMMETRIC), bits: 3 },
    kind: 'some not finite',
  },
  {
    name: 'spread bits of tokens beside those of the step',
    file: 'pack-codes.cuh',
    text: 'const uint32_t mask = masks[part] | spreadBits(masks[VECTOR - 1], part);',
    mistake: 'const uint32_t mask = masks[part] | 0xc0c0c0c0u;',
    instance: { ...values(ASYMMETRIC), bits: 3 },
    packs: ONE_TOKEN,
  },
  {
    name: 'factors of the next channel',
    file: 'pack-measure.cuh',
    text: 'halfValue(statistics[8 * column + j])',
    mistake: 'halfValue(statistics[8 * column + (j + 1) % 8])',
    instance: { ...keys(FULL), hasFactors: true },
  },
  {
    name: 'measures without factors',
    file: 'pack-measure.cuh',
    text: 'const float product = productOf(halfValue(channel % 2 == 0 ? pair : pair >> 16), factors[channel]);',
    mistake:
      'const float product = productOf(halfValue(channel % 2 == 0 ? pair : pair >> 16), factors[0]);',
    instance: { ...keys(FULL_SIGNED), hasFactors: true },
  },
  {
    name: 'products beyond what f16 scales reach',
    file: 'pack-codes.cuh',
    text: 'if (Tile::FACTORS) numerator = std::fmax',
    mistake: 'if (false) numerator = std::fmax',
    instance: { ...keys(FULL), hasFactors: true },
    kind: 'the whole range',
  },
  {
    name: 'open codes without factors',
    file: 'pack-codes.cuh',
    text: 'Codes::codeOf(Tile::valueAt(shared, token, channel), step)',
    mistake: 'Codes::codeOf(halfValue(Tile::halfAt(shared, token, channel)), step)',
    instance: { ...keys(SIGNMAG), hasFactors: true },
    kind: 'some not finite',
  },
  {
    name: 'the largest value without a limit',
    file: 'pack-codes.cuh',
    text: 'if (Codes::LIMITED || Tile::FACTORS)',
    mistake: 'if (false)',
    instance: keys(FULL),
  },
  {
    name: 'the last of equal magnitudes',
    file: 'pack-measure.cuh',
    text: 'if (std::fabs(value) > std::fabs(seen.extreme))',
    mistake: 'if (std::fabs(value) >= std::fabs(seen.extreme))',
    instance: keys(FULL_SIGNED),
    kind: 'equal magnitudes of both signs',
  },
  {
    name: 'the sign of equal magnitudes',
    file: 'pack-measure.cuh',
    text: 'if (special || tied)',
    mistake: 'if (special && !tied)',
    instance: keys(FULL_SIGNED),
    kind: 'equal magnitudes of both signs',
  },
  {
    name: 'the mode of hybrid groups is not stored',
    file: 'pack-measure.cuh',
    text: 'parameters.scale |= HALF_SIGN;',
    mistake: '',
    instance: keys(HYBRID),
  },
  {
    name: 'NaN in the range',
    file: 'pack-measure.cuh',
    text: 'if (special || tied)',
    mistake: 'if (tied)',
    instance: values(ASYMMETRIC),
    kind: 'some not finite',
  },
  {
    name: 'codes beside those of the step',
    file: 'pack-codes.cuh',
    text: 'if (pack.has(token)) mask |= bits;',
    mistake: 'if (pack.has(token) || token >= 0) mask |= bits;',
    instance: values(ASYMMETRIC),
    packs: ONE_TOKEN,
  },
  {
    name: 'parameters beside those of the step',
    file: 'pack-codes.cuh',
    text: 'if (pack.has(token)) to[k] = from[k];',
    mistake: 'if (pack.has(token) || true) to[k] = from[k];',
    instance: values(ASYMMETRIC),
    packs: ONE_TOKEN,
  },
  {
    name: 'parameters of later slots stay',
    file: 'pack-codes.cuh',
    text: 'else if (pack.slot == 0) to[k] = 0;',
    mistake: '',
    instance: values(ASYMMETRIC),
    packs: [{ slot: 0, count: 5, windowed: 0 }],
  },
  {
    name: 'parameters of groups behind a first one stay',
    file: 'pack-codes.cuh',
    text: 'else if (pack.slot == 0) to[k] = 0;',
    mistake: '',
    instance: keys(SIGNMAG),
    packs: [{ slot: 0, count: 32, windowed: 0 }],
  },
  {
    name: 'parameters of later slots are cleared by packs that begin no page',
    file: 'pack-codes.cuh',
    text: 'else if (pack.slot == 0) to[k] = 0;',
    mistake: 'else to[k] = 0;',
    instance: keys(ASYMMETRIC),
    packs: [{ slot: 32, count: 32, windowed: 0 }],
  },
  {
    name: 'rows of the first span only',
    file: 'pack-commands.cuh',
    text: 'span[SPAN_WORDS] <= row',
    mistake: 'span[SPAN_WORDS] < row',
    instance: keys(ASYMMETRIC),
    packs: [{ slot: 0, count: 64, windowed: 40 }],
  },
  {
    name: 'rows of the first head',
    file: 'pack-commands.cuh',
    text: '2 * static_cast<uint64_t>(head) * span[4]',
    mistake: '0 * static_cast<uint64_t>(head) * span[4]',
    instance: keys(ASYMMETRIC),
  },
];

describe.skipIf(compiler === undefined)('mistakes are seen', () => {
  let right: HostProgram;

  beforeAll(() => {
    const lines = mutants.map(({ instance }) => instanceLine(instance));
    right = buildHostProgram('pack-host.cpp', { 'instances.inc': lines.join('') });
  }, 60_000);

  afterAll(() => right.remove());

  test.each(mutants.map((mutant, number) => ({ ...mutant, number })))('$name', (mutant) => {
    const shape = {
      heads: 2,
      kinds: [mutant.kind ?? 'normal'],
      packs: mutant.packs ?? [{ slot: 0, count: 128, windowed: 0 }],
    };
    const launch = launchOf(mutant.instance, mutant.number, shape, 4711);
    expect(differenceOf(right.run(launch.job), launch.expected)).toBeUndefined();
    const { job, expected } = launchOf(mutant.instance, 0, shape, 4711);
    expect(differenceOf(runMutant(mutant, job), expected)).toBeDefined();
  });
});

/** What kernels with the mistake make of a job. */
function runMutant({ file, text, mistake, instance }: Mutant, job: Uint8Array): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-mutant-'));
  let program: HostProgram | undefined;
  try {
    cpSync(kernelFolder, folder, { recursive: true });
    const path = join(folder, file);
    const source = readFileSync(path, 'utf8');
    expect(source.split(text)).toHaveLength(2);
    writeFileSync(
      path,
      source.replace(text, () => mistake),
    );
    const lines = { 'instances.inc': instanceLine(instance) };
    program = buildHostProgram('pack-host.cpp', lines, folder);
    return program.run(job);
  } finally {
    program?.remove();
    rmSync(folder, { recursive: true });
  }
}
