/** Arguments of the command line: real ones with values, options and order changed. Commands that only look. */

import { ERROR_CODES, type ErrorCode } from '@lowbit-kv/core';
import { presets } from '@lowbit-kv/scheme-kivi';
import { LLAMA_3_1_8B } from '../../../../packages/cli/test/support/configs.js';
import { captureBytes } from '../../../../packages/harness/test/support/capture-bytes.js';
import { STRINGS } from '../mutate/json.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';
import { exampleReports } from './report.js';
import { Scratch } from './scratch.js';
import { runCommand } from './terminal.js';

const GEOMETRY = '{"layers":2,"queryHeads":4,"kvHeads":2,"keyHeadDim":64,"valueHeadDim":64}';
const NOTHING = ['--capture', 'no.safetensors'];
const NO_MODEL = ['--model', './no-model'];

/** `fixed` comes last and stays: what it names is missing, so that nothing is measured. */
interface CommandSeed {
  readonly free: readonly string[];
  readonly fixed?: readonly string[];
}

const COMMANDS: readonly CommandSeed[] = [
  { free: ['estimate', '--config', 'config.json', '--tokens', '8192', '--memory', '24GB'] },
  { free: ['estimate', '--geometry', GEOMETRY, '--scheme', 'kivi', '--sequences', '16', '--json'] },
  { free: ['inspect', 'capture.safetensors', '--layer', '3', '--limit', '16'] },
  { free: ['inspect', 'scheme.json', '--json'] },
  { free: ['diff', 'compare.json', 'compare.json', '--fail-if', 'bits>0', 'output.worstHead>5%'] },
  { free: ['diff', 'eval.json', 'eval.json', '--fail-if', 'ppl.delta>2%', '--json'] },
  { free: ['schemes', '--json'] },
  { free: ['--help'] },
  {
    free: ['export-onnx', '--out', 'graphs', '--geometry', GEOMETRY],
    fixed: ['--scheme', './missing.json'],
  },
  { free: ['compare', '--positions', '2', '--fail-if', 'bits>5', '--all'], fixed: NOTHING },
  { free: ['tune', '--budget-bits', '3.25', '--sinks', '4', '--out', 't.json'], fixed: NOTHING },
  {
    free: ['eval', '--text', 'text', '--windows', '2', '--stress', 'key-scale:16'],
    fixed: NO_MODEL,
  },
  { free: ['generate', '--scheme', 'f16', '--prompt', 'a', '--top-p', '0.9'], fixed: NO_MODEL },
  {
    free: ['capture', '--text', 'text', '--layers', '0', '1', '-o', 'm.safetensors'],
    fixed: NO_MODEL,
  },
  { free: ['calibrate', '--text', 'text', '--scheme', 'oaken', '-o', 'o.json'], fixed: NO_MODEL },
];
const VALUES = [
  ...['-1', '0', '1.5', '1e3', '1e300', '1e400', '0x10', 'NaN', 'Infinity', '9007199254740993'],
  ...['--', '-', '--help', '-h', '--version', '--json', '--all', '--markdown', '--__proto__'],
  ...['--layer', '--block', '--tokens', '--geometry', '{}', '[]', 'null', '24XB', 'bits>', '>1'],
  ...['bits>1e999', 'constructor>1', 'toString', 'key-scale:', 'key-scale:NaN', 'text', '.', '..'],
];
const LONGEST = 1000;

export const commandLine: Target = {
  name: 'command-line',
  // Figures of every scheme for every number of tokens that is named.
  seconds: 5,
  codes: Object.keys(ERROR_CODES) as ErrorCode[],
  async open() {
    const scratch = new Scratch('arguments');
    await writeFiles(scratch);
    return {
      mutant: (random) => new TextEncoder().encode(JSON.stringify(mutateArguments(random))),
      async check(mutant) {
        const args = JSON.parse(new TextDecoder().decode(mutant)) as string[];
        const { code } = await runCommand(args, scratch.folder);
        mustHold([0, 2, 3].includes(code), `exit code ${code} without an error`);
        scratch.mustBeInside();
      },
      close: async () => scratch.remove(),
    };
  },
};

async function writeFiles(scratch: Scratch): Promise<void> {
  const [compared, evaluated] = (await exampleReports()).map((one) => JSON.stringify(one));
  scratch.write('config.json', JSON.stringify(LLAMA_3_1_8B));
  scratch.write('capture.safetensors', captureBytes());
  scratch.write('scheme.json', JSON.stringify(presets[0]));
  scratch.write('compare.json', compared ?? '');
  scratch.write('eval.json', evaluated ?? '');
  scratch.write('text', 'a text');
}

function mutateArguments(random: Random): string[] {
  const { free, fixed = [] } = random.pick(COMMANDS);
  const args = [...free];
  for (let left = 1 + random.small(5); left > 0; left--) {
    const at = 1 + random.below(args.length);
    const change = random.pick(['replace', 'replace', 'replace', 'insert', 'remove', 'swap']);
    if (change === 'remove') args.splice(at, 1);
    else if (change === 'swap') args.push(...args.splice(at, 1));
    else args.splice(at, change === 'replace' ? 1 : 0, drawn(random));
  }
  return [...args.map((text) => text.slice(0, LONGEST)), ...fixed];
}

function drawn(random: Random): string {
  return random.pick(random.chance(0.7) ? VALUES : STRINGS);
}
