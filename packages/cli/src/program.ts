/**
 * The command line: commands, options and help. Each command's code is loaded when it runs.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { BACKENDS } from './backends.js';
import { readOwnManifest } from './manifest.js';
import type { Terminal } from './terminal.js';

/** What a command returns: its exit code, or nothing for 0. */
export type CommandResult = number | undefined;

const SCHEME_HELP = 'preset id, package or file; may be repeated';

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

  const addCommand = <Options>(
    name: string,
    description: string,
    examples: readonly string[],
    load: () => Promise<(terminal: Terminal, options: Options) => Promise<CommandResult>>,
  ): Command => {
    const command = program.command(name).description(description);
    command.helpOption('-h, --help', 'show this help');
    command.showHelpAfterError(`Run \`lowbit-kv ${name} --help\` for the options.`);
    addExamples(command, examples);
    return command.action(async (options: Options) => {
      const execute = await load();
      setExitCode((await execute(terminal, options)) ?? 0);
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
      new Option(
        '--positions <n>',
        'query positions to attend, evenly spaced (default: 48)',
      ).argParser(positiveInteger),
    )
    .addOption(
      new Option(
        '--model-layers <n>',
        'layers of the whole model (default: what the capture says)',
      ).argParser(positiveInteger),
    )
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
    .addOption(
      new Option('--sinks <n>', 'first tokens that stay f16 (default: 32)').argParser(count),
    )
    .addOption(
      new Option('--recent <n>', 'newest tokens that stay f16 (default: 96)').argParser(count),
    )
    .addOption(
      new Option(
        '--positions <n>',
        'query positions to choose by, and as many to judge by (default: 96)',
      ).argParser(positiveInteger),
    )
    .addOption(
      new Option(
        '--model-layers <n>',
        'layers of the whole model (default: what the capture says)',
      ).argParser(positiveInteger),
    )
    .option('--id <id>', 'id of the tuned scheme (default: tuned- and the budget)')
    .option('--json', 'print the report as JSON');

  const evalCommand = addCommand(
    'eval',
    'Run a language model over a text under each scheme: perplexity, divergence from f16, bits, verdict.',
    [
      'lowbit-kv eval --model ./SmolLM2-135M-Instruct --text wiki.txt --scheme kivi',
      'lowbit-kv eval --model org/name --text wiki.txt --all --markdown > report.md',
      'lowbit-kv eval --model DIR --text wiki.txt --scheme kivi-2bit-g32 --stress key-scale:16',
      'lowbit-kv eval --model DIR --text wiki.txt --retrieval 1024 4096 --json > report.json',
    ],
    async () => (await import('./commands/eval.js')).evaluateModel,
  );
  addModelOptions(evalCommand)
    .requiredOption('--text <file>', 'text to predict, UTF-8')
    .option('--scheme <scheme...>', `${SCHEME_HELP} (default: presets of KIVI, InnerQ and Oaken)`)
    .option('--all', 'every preset that comes with this command, and those of --scheme')
    .addOption(numberOption('--windows <n>', 'windows of the text', positiveInteger, 8))
    .addOption(numberOption('--window <tokens>', 'tokens of a window', positiveInteger, 1024))
    .addOption(
      new Option('--mode <mode>', 'replay: at the speed of a prefill; decode: a step per token')
        .choices(['replay', 'decode'])
        .default('replay'),
    )
    .addOption(backendOption())
    .option('--allow-emulation', 'let the backend emulate what it has no kernels for')
    .addOption(
      numberOption(
        '--prompt-tokens <n>',
        'length of the prompt that schemes take statistics of (default: what each scheme says)',
        positiveInteger,
      ),
    )
    .option('--stress <lens...>', 'key-scale:16, key-mean:30 or value-mean:10: a harder model')
    .option('--retrieval <tokens...>', 'lengths of contexts to hide a pass key in', listOfIntegers)
    .option('--calibration <file>', 'offline calibration for the schemes that need one')
    .addOption(
      numberOption(
        '--calibration-tokens <n>',
        'tokens after the windows to calibrate on, where no file does',
        positiveInteger,
        4096,
      ),
    )
    .option('--allow-calibrated-text', 'evaluate on tokens that a calibration was measured on')
    .option('--fresh', 'measure again what an interrupted run had finished')
    .addOption(new Option('--json', 'print the report as JSON').conflicts('markdown'))
    .option('--markdown', 'print the tables as Markdown');

  const generateCommand = addCommand(
    'generate',
    'Let a language model write, its keys and values stored as the scheme says.',
    [
      'lowbit-kv generate --model ./SmolLM2-135M-Instruct --scheme kivi-4bit-g32 --prompt "Why is the sky blue?"',
      'lowbit-kv generate --model DIR --scheme f16 --raw --prompt "Once upon a time" --temperature 0.8 --top-p 0.95 --seed 7',
      'lowbit-kv generate --model DIR --scheme kivi-2bit-g32 --backend webgpu --prompt "Hello" --against-f16',
    ],
    async () => (await import('./commands/generate.js')).generateText,
  );
  addModelOptions(generateCommand)
    .requiredOption('--scheme <scheme>', 'preset id, package or file of one scheme, or f16')
    .requiredOption(
      '--prompt <text>',
      'what the user says; put into the chat template of the model',
    )
    .option('--system <text>', 'what the system says')
    .option('--raw', 'no chat template: continue the prompt')
    .addOption(numberOption('--max-tokens <n>', 'most tokens to write', positiveInteger, 256))
    .addOption(numberOption('--temperature <t>', '0: the most likely token', Number))
    .addOption(numberOption('--top-p <p>', 'of the most likely tokens that make up p', Number))
    .addOption(numberOption('--top-k <k>', 'of the k most likely tokens', count))
    .addOption(numberOption('--seed <n>', 'equal seeds write equal texts (default: 0)', count))
    .addOption(backendOption())
    .option('--allow-emulation', 'let the backend emulate what it has no kernels for')
    .option('--calibration <file>', 'offline calibration, for a scheme that needs one')
    .option('--against-f16', 'say where f16 would have written something else');

  const captureCommand = addCommand(
    'capture',
    'Write keys, values and queries of a language model over a text, for compare and tune.',
    [
      'lowbit-kv capture --model DIR --text wiki.txt --layers 0 10 18 29 --tokens 1024 --out mine.safetensors',
      'lowbit-kv compare --capture mine.safetensors',
    ],
    async () => (await import('./commands/capture.js')).capture,
  );
  addModelOptions(captureCommand)
    .requiredOption('--text <file>', 'text to run over, UTF-8')
    .option('--layers <n...>', 'which layers, from 0 (default: all)', listOfCounts)
    .addOption(numberOption('--tokens <n>', 'first so many tokens', positiveInteger, 1024))
    .addOption(
      numberOption('--queries <n>', 'last positions to keep queries of', positiveInteger, 128),
    )
    .option('--no-pre-rope', 'leave out the keys before the rotary embedding')
    .requiredOption('-o, --out <file>', '.safetensors file to write to');

  const calibrateCommand = addCommand(
    'calibrate',
    'Measure offline calibration of schemes on a language model and a text.',
    [
      'lowbit-kv calibrate --scheme oaken --model DIR --text train.txt --out oaken.json',
      'lowbit-kv eval --model DIR --text test.txt --scheme oaken --calibration oaken.json',
    ],
    async () => (await import('./commands/calibrate.js')).calibrate,
  );
  addModelOptions(calibrateCommand)
    .requiredOption('--scheme <scheme...>', SCHEME_HELP)
    .requiredOption('--text <file>', 'text to measure on, UTF-8')
    .addOption(numberOption('--first-token <n>', 'where in the text to begin', count, 0))
    .addOption(numberOption('--tokens <n>', 'tokens to measure on', positiveInteger, 4096))
    .option('--evaluation-text <file...>', 'texts of evaluations: the same text is refused')
    .option('--allow-evaluation-text', 'calibrate on the text of an evaluation')
    .requiredOption('-o, --out <file>', '.json file to write to');

  addCommand(
    'schemes',
    'List the presets: bits, groups, windows, exact storage.',
    ['lowbit-kv schemes', 'lowbit-kv schemes --json'],
    async () => (await import('./commands/schemes.js')).schemes,
  ).option('--json', 'print the list as JSON');

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

/** Which model, and with how many threads. */
function addModelOptions(command: Command): Command {
  return command
    .requiredOption('--model <model>', 'folder with config.json and onnx/, or org/name of a hub')
    .option('--model-file <name>', 'which model file, where there are several')
    .option('--revision <revision>', 'commit, tag or branch on the hub (default: main)')
    .option('--offline', 'take the model from the cache alone')
    .addOption(
      numberOption('--threads <n>', 'threads of onnxruntime (default: all)', positiveInteger),
    );
}

function numberOption(
  flags: string,
  description: string,
  parse: (text: string) => number,
  value?: number,
): Option {
  const option = new Option(flags, description).argParser(parse);
  return value === undefined ? option : option.default(value);
}

/** For options that take several. */
function listOfIntegers(text: string, before: readonly number[] | undefined): readonly number[] {
  return [...(before ?? []), positiveInteger(text)];
}

function listOfCounts(text: string, before: readonly number[] | undefined): readonly number[] {
  return [...(before ?? []), count(text)];
}

function backendOption(): Option {
  return new Option('--backend <id>', 'what executes the schemes')
    .choices(BACKENDS)
    .default('reference');
}

function addExamples(command: Command, examples: readonly string[]): void {
  command.addHelpText('before', () => `Examples:\n${examples.map((e) => `  $ ${e}\n`).join('')}`);
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a positive integer.');
}

function count(text: string): number {
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('It must be an integer of at least 0.');
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}
