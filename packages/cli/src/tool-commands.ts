/**
 * Tools: bench, and the commands that look without measuring: estimate, inspect.
 */
import { Option } from 'commander';
import { addBenchCommand } from './bench/bench-options.js';
import { memorySize } from './estimate/memory-size.js';
import { count, listOfIntegers, numberOption, positiveInteger, SCHEME_HELP } from './options.js';
import type { AddCommand } from './program.js';

export function addToolCommands(addCommand: AddCommand): void {
  addBenchCommand(addCommand);
  addCommand(
    'estimate',
    'Exact memory of each scheme for a model, and how many tokens and sequences fit.',
    [
      'lowbit-kv estimate --config Llama-3.1-8B/config.json',
      'lowbit-kv estimate --config config.json --memory 24GB --tokens 8192 --all',
      'lowbit-kv estimate --scheme kivi-2bit-g32 --sequences 16 --json',
    ],
    async () => (await import('./commands/estimate.js')).estimate,
  )
    .option('--scheme <scheme...>', `${SCHEME_HELP} (default: presets of KIVI, InnerQ and Oaken)`)
    .option('--all', 'every preset that comes with this command, and those of --scheme')
    .addOption(
      new Option(
        '--config <file>',
        'config.json of a model (default: the geometry of the shipped capture)',
      ).conflicts('geometry'),
    )
    .option('--geometry <json>', 'model geometry, as JSON or as a file of JSON')
    .addOption(
      new Option('--tokens <n...>', 'tokens of a sequence (default: 8192 32768 131072)').argParser(
        listOfIntegers,
      ),
    )
    .addOption(numberOption('--sequences <n>', 'sequences held at once', positiveInteger, 1))
    .addOption(
      new Option(
        '--memory <size>',
        'what fits into it, weights not counted: 24GB, 24GiB',
      ).argParser(memorySize),
    )
    .addOption(new Option('--json', 'print the report as JSON').conflicts('markdown'))
    .option('--markdown', 'print the tables as Markdown');

  addCommand(
    'inspect',
    'Explain a snapshot, a capture, packed pages, a scheme, calibration or report, field by field.',
    [
      'lowbit-kv inspect my-model.safetensors --layer 10',
      'lowbit-kv inspect cache.snapshot --geometry geometry.json --layer 3 --tensor value --block 2',
      'lowbit-kv inspect tuned.json --json',
    ],
    async () => (await import('./commands/inspect.js')).inspect,
  )
    .argument('<file>', 'file to explain')
    .option('--scheme <scheme>', 'scheme of packed pages (default: the one a snapshot names)')
    .option(
      '--geometry <json>',
      'geometry of the model of packed pages, as JSON or as a file of it',
    )
    .option('--calibration <file>', 'offline calibration of the scheme')
    .addOption(numberOption('--block-tokens <n>', 'as the cache was planned', positiveInteger))
    .addOption(numberOption('--layer <n>', 'layer to show', count))
    .addOption(new Option('--tensor <name>', 'keys or values').choices(['key', 'value']))
    .addOption(numberOption('--block <n>', 'packed page to show', count, 0))
    .addOption(numberOption('--limit <bytes>', 'bytes to show of each field', positiveInteger, 64))
    .option('--json', 'print what was found as JSON');
}
