/** lowbit-kv.config.json, as every command reads it; --print-config shows what it makes of it. */
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';
import { runCommand } from './terminal.js';

const COMMANDS = ['compare', 'eval', 'tune', 'estimate', 'generate', 'bench'];
const SEEDS = [
  { scheme: ['kivi'], positions: 2, out: 'report', eval: { windows: 3, window: 64 } },
  {
    capture: 'capture.safetensors',
    gate: { failIf: 'verdict > care' },
    compare: { all: true, backend: 'reference' },
  },
  {
    scheme: 'kivi-2bit-g32',
    model: './model',
    tune: { budgetBits: 4, sinks: 4, recent: 16, out: 'tuned.json' },
    generate: { maxTokens: 10, temperature: 0.5, prompt: 'a' },
    estimate: {
      geometry: { layers: 2, queryHeads: 4, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 },
    },
    bench: { tokens: [96, 192], heads: '2/1', samples: 2 },
  },
];

export const configuration: Target = {
  name: 'configuration',
  codes: ['CONFIG_INVALID', 'OPTION_INVALID'],
  async open() {
    const scratch = new Scratch('configuration');
    return {
      mutant: (random) => mutateJson(random, random.pick(SEEDS)),
      async check(mutant) {
        const file = scratch.write('settings.json', mutant);
        const content = parsedJson(mutant)?.value;
        for (const command of COMMANDS) {
          const args = [command, '--config-file', file, '--print-config'];
          const { code, stdout } = await runCommand(args, scratch.folder);
          if (code === 2) continue;
          mustHold(code === 0, `exit code ${code}`);
          const isTable = /^option +value +from\n/.test(stdout);
          mustHold(
            isTable || typeof JSON.parse(stdout) === 'object',
            'settings that are no object',
          );
          mustHold(
            typeof content === 'object' && content !== null && !Array.isArray(content),
            'a configuration that is no object was taken',
          );
        }
        scratch.mustBeInside();
      },
      close: async () => scratch.remove(),
    };
  },
};
