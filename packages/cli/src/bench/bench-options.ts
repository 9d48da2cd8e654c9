/**
 * The options of `lowbit-kv bench`.
 */
import type { BenchOperation } from '@lowbit-kv/harness';
import { InvalidArgumentError, Option } from 'commander';
import { BACKENDS } from '../backends.js';
import type { HeadCounts } from '../commands/bench.js';
import { count, listOfIntegers, numberOption, positiveInteger, SCHEME_HELP } from '../options.js';
import type { AddCommand } from '../program.js';

/** Here, so that help does not load the harness. */
const OPERATIONS = ['pack', 'append', 'attend'] as const satisfies readonly BenchOperation[];

export function addBenchCommand(addCommand: AddCommand): void {
  addCommand(
    'bench',
    'Time packing, appending and attention against f16 and a copy: tables, JSON, regressions.',
    [
      'lowbit-kv bench --scheme kivi-4bit-g32 --tokens 1024',
      'lowbit-kv bench --backend cuda --batch 1 8 --tokens 8192 131072 --out benchmarks/results',
      'lowbit-kv bench --backend cuda --heads 32/8 32/32 --query-tokens 1 8 --markdown',
      'lowbit-kv bench --backend webgpu --compare base.json --threshold 5',
      'lowbit-kv compare --scheme kivi-4bit-g32 --out report --bench bench.json',
    ],
    async () => (await import('../commands/bench.js')).bench,
  )
    .option('--scheme <scheme...>', `${SCHEME_HELP} (default: four of KIVI, InnerQ and Oaken)`)
    .option('--all', 'every preset that comes with this command, and those of --scheme')
    .addOption(listOption('--backend <id...>', 'what to time (default: reference)', BACKENDS))
    .addOption(
      listOption(
        '--operation <name...>',
        'pack: a prompt; append: new tokens; attend: attention (default: all)',
        OPERATIONS,
      ),
    )
    .addOption(counts('--batch <n...>', 'sequences of a step (default: 1; on a GPU 1 and 8)'))
    .addOption(
      counts(
        '--tokens <n...>',
        'lengths of prompts and contexts (default: 512 2048; on a GPU 8192 32768)',
      ),
    )
    .addOption(counts('--query-tokens <n...>', 'new tokens of each sequence (default: 1)'))
    .addOption(
      new Option(
        '--heads <query/kv...>',
        'query heads and kv heads (default: 8/2; on a GPU 32/8)',
      ).argParser(listOfHeads),
    )
    .addOption(counts('--head-dim <n...>', 'channels of a head (default: 128)'))
    .addOption(numberOption('--samples <n>', 'samples of each figure', positiveInteger, 15))
    .addOption(numberOption('--warm-up <ms>', 'attention that does not count', count, 100))
    .option('--allow-emulation', 'let the backend emulate what it has no kernels for')
    .option('--out <path>', 'JSON file to write, or a folder for one named after the time')
    .option('--compare <file>', 'JSON of an earlier run: exit with 3 if something became slower')
    .addOption(
      new Option('--threshold <percent>', 'slower by more is a regression, where spreads are apart')
        .argParser(percent)
        .default(10),
    )
    .option('--allow-different-machine', 'compare although device or processor differ')
    .addOption(new Option('--json', 'print the report as JSON').conflicts('markdown'))
    .option('--markdown', 'print the tables as Markdown');
}

function counts(flags: string, description: string): Option {
  return new Option(flags, description).argParser(listOfIntegers);
}

/** Several of some words. */
function listOption(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices(words);
}

/** `32/8`. */
export function listOfHeads(
  text: string,
  before: readonly HeadCounts[] | undefined,
): readonly HeadCounts[] {
  const [queryHeads = 0, kvHeads = 0, ...more] = text.split('/').map(Number);
  const valid =
    more.length === 0 &&
    [queryHeads, kvHeads].every((heads) => Number.isSafeInteger(heads) && heads > 0) &&
    queryHeads % kvHeads === 0;
  if (!valid)
    throw new InvalidArgumentError(
      'It must be query heads and kv heads, a multiple of them first, such as 32/8.',
    );
  return [...(before ?? []), { queryHeads, kvHeads }];
}

function percent(text: string): number {
  const value = Number(text.replace(/ ?%$/, ''));
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('It must be a percentage of at least 0, such as 10.');
}
