/**
 * Options that several commands have, and how their values are read.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ATTENTION } from './attention-choice.js';
import { BACKENDS } from './backends.js';

export const SCHEME_HELP = 'preset id, package or file; may be repeated';

export const OUT_FOLDER_HELP = 'folder to write report.html, .md, .csv and .json to as well';

export const BENCH_HELP = 'JSON of lowbit-kv bench, for the speed that the page of --out shows';

/** Which model, and with how many threads. */
export function addModelOptions(command: Command): Command {
  return command
    .requiredOption('--model <model>', 'folder with config.json and onnx/, or org/name of a hub')
    .option('--model-file <name>', 'which model file, where there are several')
    .option('--revision <revision>', 'commit, tag or branch on the hub (default: main)')
    .option('--offline', 'take the model from the cache alone')
    .addOption(
      numberOption('--threads <n>', 'threads of onnxruntime (default: all)', positiveInteger),
    );
}

export function numberOption(
  flags: string,
  description: string,
  parse: (text: string) => number,
  value?: number,
): Option {
  const option = new Option(flags, description).argParser(parse);
  return value === undefined ? option : option.default(value);
}

export function attentionOption(): Option {
  return new Option(
    '--attention <how>',
    'cut: at the attention of the model; past-injection: any decoder, slower',
  )
    .choices(ATTENTION)
    .default('cut');
}

/** For options that take several. */
export function listOfIntegers(
  text: string,
  before: readonly number[] | undefined,
): readonly number[] {
  return [...(before ?? []), positiveInteger(text)];
}

export function listOfCounts(
  text: string,
  before: readonly number[] | undefined,
): readonly number[] {
  return [...(before ?? []), count(text)];
}

export function backendOption(): Option {
  return new Option('--backend <id>', 'what executes the schemes')
    .choices(BACKENDS)
    .default('reference');
}

/** A shard has no report to print or to judge: `merge` has. */
export function shardOption(): Option {
  return new Option(
    '--shard <i/n>',
    'measure part i of n, from 1, into a file in --out; see merge',
  ).conflicts(['json', 'markdown', 'gate', 'failIf', 'bench']);
}

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a positive integer.');
}

export function count(text: string): number {
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('It must be an integer of at least 0.');
}

export function decimal(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('It must be a number.');
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}
