/**
 * The commands that run a language model: eval, generate, capture, calibrate.
 */
import { Option } from 'commander';
import { failIfOption, gateOption } from './gate-option.js';
import {
  addModelOptions,
  attentionOption,
  BENCH_HELP,
  backendOption,
  count,
  decimal,
  listOfCounts,
  listOfIntegers,
  numberOption,
  OUT_FOLDER_HELP,
  positiveInteger,
  SCHEME_HELP,
  shardOption,
} from './options.js';
import type { AddCommand } from './program.js';

export function addModelCommands(addCommand: AddCommand): void {
  const evalCommand = addCommand(
    'eval',
    'Run a language model over a text under each scheme: perplexity, divergence from f16, bits, verdict.',
    [
      'lowbit-kv eval --model ./SmolLM2-135M-Instruct --text wiki.txt --scheme kivi',
      'lowbit-kv eval --model org/name --text wiki.txt --all --out report',
      'lowbit-kv eval --model org/name --text wiki.txt --all --markdown > report.md',
      'lowbit-kv eval --model DIR --text wiki.txt --scheme kivi-2bit-g32 --stress key-scale:16',
      'lowbit-kv eval --model DIR --text wiki.txt --retrieval 1024 4096 --json > report.json',
      'lowbit-kv eval --model DIR --text wiki.txt --scheme kivi-4bit-g32 --gate --fail-if "ppl.delta>2%"',
      'lowbit-kv eval --model DIR --text wiki.txt --all --shard 1/8 --out shards',
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
    .addOption(attentionOption())
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
    .addOption(shardOption())
    .addOption(gateOption())
    .addOption(failIfOption())
    .option('--out <folder>', OUT_FOLDER_HELP)
    .option('--bench <file...>', BENCH_HELP)
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
    .addOption(numberOption('--temperature <t>', '0: the most likely token (default: 0)', decimal))
    .addOption(numberOption('--top-p <p>', 'of the most likely tokens that make up p', decimal))
    .addOption(numberOption('--top-k <k>', 'of the k most likely tokens', count))
    .addOption(numberOption('--seed <n>', 'equal seeds write equal texts (default: 0)', count))
    .addOption(attentionOption())
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
      numberOption(
        '--queries <n>',
        'last positions to keep queries of (default: 128)',
        positiveInteger,
      ),
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
}
