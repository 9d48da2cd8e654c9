/**
 * The command line: commands, options and help. Each command's code is loaded when it runs.
 */
import { Argument, Command, Option } from 'commander';
import { SHELLS } from './completion/scripts.js';
import { applyConfig, type ConfigFlags, type Sources } from './config/apply-config.js';
import { failIfOption, gateOption } from './gate-option.js';
import { readOwnManifest } from './manifest.js';
import { addModelCommands } from './model-commands.js';
import {
  BENCH_HELP,
  backendOption,
  count,
  numberOption,
  OUT_FOLDER_HELP,
  positiveInteger,
  positiveNumber,
  SCHEME_HELP,
  shardOption,
} from './options.js';
import type { Terminal } from './terminal.js';
import { addToolCommands } from './tool-commands.js';

/** What a command returns: its exit code, or nothing for 0. */
export type CommandResult = number | undefined;

/** Adds a command whose code is loaded when it runs. */
export type AddCommand = <Options>(
  name: string,
  description: string,
  examples: readonly string[],
  load: () => Promise<
    (terminal: Terminal, options: Options, ...args: string[]) => Promise<CommandResult>
  >,
) => Command;

const SETTINGS_HELP =
  '\nOptions may also stand in lowbit-kv.config.{ts,js,json}, or in the environment: LOWBIT_KV_ and the name, in capitals.\n' +
  'Flags win over the environment, that over the file; --print-config shows what came from where.\n' +
  'LOWBIT_KV_LOG=info tells on stderr which plans run, LOWBIT_KV_LOG=debug all that backends are given too.';

export function createProgram(terminal: Terminal, setExitCode: (code: number) => void): Command {
  const { version } = readOwnManifest();
  const program = new Command('lowbit-kv')
    .description('Low-bit key-value cache schemes on real keys and values, and on real models.')
    .version(version, '-V, --version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.replace(/\n$/, '')),
      writeErr: (text) => terminal.note(text.replace(/\n$/, '')),
      getOutHasColors: () => terminal.outColors.isColorSupported,
      getErrHasColors: () => terminal.errColors.isColorSupported,
    });

  program
    .option(
      '--config-file <file>',
      'take options from this file (default: lowbit-kv.config.* here or above)',
    )
    .option('--no-config-file', 'take options from no file')
    .option(
      '--print-config',
      'print the options that the command would run with, and where each came from',
    );
  let sources: Sources = { origins: new Map(), unknown: [] };
  program.hook('preSubcommand', async (_, command) => {
    if (program.args.some((argument) => argument === '-h' || argument === '--help')) return;
    sources = await applyConfig(command, program.commands, program.opts<ConfigFlags>(), terminal);
    if (program.opts<{ printConfig?: boolean }>().printConfig !== true) return;
    // Nothing runs, so nothing is missing.
    for (const option of command.options) option.mandatory = false;
    for (const argument of command.registeredArguments) argument.required = false;
  });

  const addCommand: AddCommand = <Options>(
    name: string,
    description: string,
    examples: readonly string[],
    load: () => Promise<
      (terminal: Terminal, options: Options, ...args: string[]) => Promise<CommandResult>
    >,
  ) => {
    const command = program.command(name).description(description);
    command.helpOption('-h, --help', 'show this help');
    command.showHelpAfterError(`Run \`lowbit-kv ${name} --help\` for the options.`);
    addExamples(command, examples);
    command.addHelpText('after', SETTINGS_HELP);
    return command.action(async () => {
      if (program.opts<{ printConfig?: boolean }>().printConfig === true) {
        (await import('./config/print-config.js')).printConfig(terminal, command, sources);
        return;
      }
      const execute = await load();
      setExitCode((await execute(terminal, command.opts() as Options, ...command.args)) ?? 0);
    });
  };

  addExamples(program, [
    'lowbit-kv compare                                  # KIVI, InnerQ and Oaken on the shipped capture',
    'lowbit-kv compare --all                            # every preset that comes with this command',
    'lowbit-kv compare --scheme kivi --scheme ./my-scheme.js',
    'lowbit-kv eval --model DIR --text wiki.txt         # what they do to your model',
    'lowbit-kv generate --model DIR --scheme kivi-4bit-g32 --prompt "Why is the sky blue?"',
    'lowbit-kv schemes',
    'lowbit-kv doctor',
  ]);
  program.showHelpAfterError('Run `lowbit-kv --help` for the commands.');

  addCommand(
    'compare',
    'Replay decoding of a capture under each scheme: accuracy, memory, verdict.',
    [
      'lowbit-kv compare',
      'lowbit-kv compare --all --scheme ./my-scheme.js',
      'lowbit-kv compare --capture my-model.safetensors --scheme kivi-2bit-g32',
      'lowbit-kv compare --backend onnx --json > report.json',
      'lowbit-kv compare --scheme kivi-4bit-g32 --gate --fail-if "bits>5.5"',
      'lowbit-kv compare --all --out report               # report.html, .md, .csv and .json',
      'lowbit-kv compare --all --shard 1/8 --out shards   # a part of it; then lowbit-kv merge shards',
    ],
    async () => (await import('./commands/compare.js')).compare,
  )
    .option('--capture <file>', 'capture to replay (default: the one shipped with the harness)')
    .option('--scheme <scheme...>', `${SCHEME_HELP} (default: presets of KIVI, InnerQ and Oaken)`)
    .option('--all', 'every preset that comes with this command, and those of --scheme')
    .addOption(backendOption())
    .option('--allow-emulation', 'let the backend emulate what it has no kernels for')
    .option('--calibration <file>', 'offline calibration for the schemes that need one')
    .addOption(
      numberOption(
        '--positions <n>',
        'query positions to attend, evenly spaced (default: 48)',
        positiveInteger,
      ),
    )
    .addOption(
      numberOption(
        '--model-layers <n>',
        'layers of the whole model (default: what the capture says)',
        positiveInteger,
      ),
    )
    .option('--fresh', 'measure again what an interrupted run had finished')
    .addOption(shardOption())
    .addOption(gateOption())
    .addOption(failIfOption())
    .option('--out <folder>', OUT_FOLDER_HELP)
    .option('--bench <file...>', BENCH_HELP)
    .addOption(new Option('--json', 'print the report as JSON').conflicts('markdown'))
    .option('--markdown', 'print the tables as Markdown');

  addCommand(
    'merge',
    'Put the shards of a comparison or an evaluation together: the report of one process.',
    [
      'lowbit-kv compare --all --shard 1/2 --out shards',
      'lowbit-kv compare --all --shard 2/2 --out shards',
      'lowbit-kv merge shards --out report',
      'lowbit-kv merge shard-1-of-2.jsonl shard-2-of-2.jsonl --gate --json > report.json',
    ],
    async () => (await import('./commands/merge.js')).merge,
  )
    .argument('<shard...>', 'files that --shard wrote, or folders of them')
    .addOption(gateOption())
    .addOption(failIfOption())
    .option('--out <folder>', OUT_FOLDER_HELP)
    .option('--bench <file...>', BENCH_HELP)
    .addOption(new Option('--json', 'print the report as JSON').conflicts('markdown'))
    .option('--markdown', 'print the tables as Markdown');

  addCommand(
    'tune',
    'Choose keys and values per layer under a budget of bits; write the scheme to a file.',
    [
      'lowbit-kv tune --budget-bits 3.25 --capture my-model.safetensors --out tuned.json',
      'lowbit-kv compare --capture my-model.safetensors --all --scheme ./tuned.json',
    ],
    async () => (await import('./commands/tune.js')).tune,
  )
    .addOption(
      new Option('--budget-bits <bits>', 'bits per element of packed blocks, mean over the layers')
        .argParser(positiveNumber)
        .makeOptionMandatory(),
    )
    .option('--capture <file>', 'capture to choose by (default: the one shipped with the harness)')
    .option('--out <file>', 'JSON file to write the scheme to')
    .option(
      '--scheme <scheme...>',
      `${SCHEME_HELP}: where candidates come from (default: every preset)`,
    )
    .addOption(backendOption())
    .addOption(numberOption('--sinks <n>', 'first tokens that stay f16 (default: 32)', count))
    .addOption(numberOption('--recent <n>', 'newest tokens that stay f16 (default: 96)', count))
    .addOption(
      numberOption(
        '--positions <n>',
        'query positions to choose by, and as many to judge by (default: 96)',
        positiveInteger,
      ),
    )
    .addOption(
      numberOption(
        '--model-layers <n>',
        'layers of the whole model (default: what the capture says)',
        positiveInteger,
      ),
    )
    .option('--id <id>', 'id of the tuned scheme (default: tuned- and the budget)')
    .option('--json', 'print the report as JSON');

  addModelCommands(addCommand);
  addToolCommands(addCommand);

  addCommand(
    'diff',
    'Compare two reports of compare --json, or of eval --json, figure by figure.',
    [
      'lowbit-kv diff before.json after.json',
      'lowbit-kv diff before.json after.json --fail-if "output.worstHead>5%" --fail-if "bits>0"',
    ],
    async () => (await import('./commands/diff.js')).diff,
  )
    .argument('<before>', 'report to compare with')
    .argument('<after>', 'report of the same data')
    .addOption(failIfOption())
    .option('--allow-different-data', 'compare although model, text, windows or settings differ')
    .option('--json', 'print the comparison as JSON');

  addCommand(
    'schemes',
    'List the presets: bits, groups, windows, exact storage.',
    ['lowbit-kv schemes', 'lowbit-kv schemes --json'],
    async () => (await import('./commands/schemes.js')).schemes,
  ).option('--json', 'print the list as JSON');

  addCommand(
    'backends',
    'List what can execute schemes on this machine, and why others cannot.',
    ['lowbit-kv backends', 'lowbit-kv backends --json'],
    async () => (await import('./commands/backends.js')).backends,
  ).option('--json', 'print the list as JSON');

  addCommand(
    'completion',
    'Print a script that completes commands, options and presets in a shell.',
    [
      'source <(lowbit-kv completion bash)',
      'lowbit-kv completion fish > ~/.config/fish/completions/lowbit-kv.fish',
    ],
    async () => {
      const { completion } = await import('./commands/completion.js');
      return (own, _, shell = '') => completion(own, program, shell);
    },
  ).addArgument(new Argument('<shell>', 'which shell').choices(SHELLS));

  addCommand(
    'doctor',
    'Check Node, packages, schemes, backends and ONNX Runtime.',
    ['lowbit-kv doctor', 'lowbit-kv doctor --json'],
    async () => (await import('./commands/doctor.js')).doctor,
  ).option('--json', 'print the report as JSON');

  addCommand(
    'export-onnx',
    'Write the ONNX graphs of a scheme, to run with any ONNX Runtime.',
    [
      'lowbit-kv export-onnx --scheme kivi-2bit-g32 --out graphs',
      'lowbit-kv export-onnx --scheme kivi-2bit-g32 --out graphs --geometry \'{"layers":32,"queryHeads":32,"kvHeads":8,"keyHeadDim":128,"valueHeadDim":128}\'',
    ],
    async () => (await import('./commands/export-onnx.js')).exportOnnxGraphs,
  )
    .requiredOption('--scheme <scheme>', 'preset id, package or file of one scheme')
    .requiredOption('--out <directory>', 'directory to write to; created when missing')
    .addOption(
      new Option(
        '--capture <file>',
        'capture whose geometry to use (default: the shipped one)',
      ).conflicts('geometry'),
    )
    .option('--geometry <json>', 'model geometry, as JSON or as a file of JSON')
    .option('--calibration <file>', 'offline calibration, for a scheme that needs one');

  return program;
}

function addExamples(command: Command, examples: readonly string[]): void {
  command.addHelpText('before', () => `Examples:\n${examples.map((e) => `  $ ${e}\n`).join('')}`);
}
