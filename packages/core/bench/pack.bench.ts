/**
 * Prints how fast the law packs, alternating with numpy when python3 has it, and the ratio. `--json` prints one line.
 *
 * Run as a plain script: a test runner turns imported constants into property reads, which the inner loops would feel.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packRate } from './pack-rate.js';

const REQUIRED_RATIO = 1.25;
const ROUNDS = 5;

interface NumpyRates {
  readonly numpy: string;
  readonly f16: number;
  readonly f32: number;
}

/** Rates of benchmarks/numpy-pack.py, or why there are none. */
function numpyRates(python: string, seconds: number): NumpyRates | string {
  const script = fileURLToPath(new URL('../../../benchmarks/numpy-pack.py', import.meta.url));
  const single = {
    ...process.env,
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
    MKL_NUM_THREADS: '1',
  };
  const run = spawnSync(python, [script, String(seconds)], { encoding: 'utf8', env: single });
  if (run.error !== undefined) return run.error.message;
  if (run.status !== 0) return run.stderr.trim().split('\n').at(-1) ?? `exit status ${run.status}`;
  return JSON.parse(run.stdout) as NumpyRates;
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const millions = (rate: number) => `${(rate / 1e6).toFixed(1)} million elements/s`;

function main(): void {
  const { values: options } = parseArgs({
    options: {
      python: { type: 'string', default: 'python3' },
      seconds: { type: 'string', default: '0.5' },
      json: { type: 'boolean', default: false },
    },
  });
  const seconds = Number(options.seconds);
  const rounds: { channels: number; tokens: number; numpy: NumpyRates | null }[] = [];
  let absent: string | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const channels = packRate('channels', seconds).elementsPerSecond;
    const tokens = packRate('tokens', seconds).elementsPerSecond;
    const numpy: NumpyRates | string = absent ?? numpyRates(options.python, seconds);
    if (typeof numpy === 'string') absent = numpy;
    rounds.push({ channels, tokens, numpy: typeof numpy === 'string' ? null : numpy });
  }
  const law = (axis: 'channels' | 'tokens') => median(rounds.map((round) => round[axis]));
  const compared = rounds.flatMap(({ channels, tokens, numpy }) =>
    numpy === null ? [] : [{ law: Math.min(channels, tokens), f16: numpy.f16, f32: numpy.f32 }],
  );
  const ratio = (type: 'f16' | 'f32') =>
    compared.length === 0 ? null : median(compared.map((entry) => entry.law / entry[type]));
  const ratios = { f16: ratio('f16'), f32: ratio('f32') };
  if (options.json) {
    console.log(JSON.stringify({ rounds, ratios, numpyAbsent: absent }));
    return;
  }
  console.log('4-bit affine groups of 32, f16 bits to packed bytes, one core, median of 5 rounds');
  console.log(`law, groups along channels  ${millions(law('channels'))}`);
  console.log(`law, groups along tokens    ${millions(law('tokens'))}`);
  if (absent !== null) {
    console.log(`numpy comparison not run: ${absent}`);
    return;
  }
  console.log(`numpy, from f16             ${millions(median(compared.map(({ f16 }) => f16)))}`);
  console.log(`numpy, from f32             ${millions(median(compared.map(({ f32 }) => f32)))}`);
  for (const type of ['f16', 'f32'] as const) {
    const value = ratios[type] as number;
    const verdict = value >= REQUIRED_RATIO ? 'met' : 'MISSED';
    console.log(
      `slower axis / numpy ${type}     ${value.toFixed(2)} (${REQUIRED_RATIO} required: ${verdict})`,
    );
  }
}

main();
