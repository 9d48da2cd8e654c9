/**
 * What the commands are tested with: a command line that works on files of a tiny workspace, and lines that do not.
 */

export const CAPTURE = ['--capture', 'tiny.safetensors'];
export const MODEL = ['--model', 'model', '--threads', '1'];
const TEXT = ['--text', 'text.txt'];
export const KIVI = ['--scheme', 'kivi-4bit-g32'];
const WINDOWS = ['--sinks', '4', '--recent', '16'];
const WINDOW = ['--windows', '1', '--window', '64'];
const SMALL_BENCH = [
  ...[...KIVI, '--tokens', '96', '--heads', '2/1', '--head-dim', '32'],
  ...['--samples', '2', '--warm-up', '0'],
];
/** A file where a folder would have to be. */
const NOWHERE = 'occupied/below';

interface Row {
  /** Runs; stdout is data of this form. */
  readonly works: readonly [args: readonly string[], stdout: RegExp];
  /** What that writes. */
  readonly files?: readonly string[];
  readonly wrong: readonly [args: readonly string[], message: RegExp];
  /** A file that is not there, or why the command reads none. */
  readonly missing: readonly string[] | string;
  /** An output that cannot be written, or why the command writes none. */
  readonly unwritable: readonly string[] | string;
}

export const ROWS: Readonly<Record<string, Row>> = {
  compare: {
    works: [
      [...CAPTURE, ...KIVI, '--positions', '2', '--out', 'compared', '--json'],
      /^\{[\s\S]*"kivi-4bit-g32"/,
    ],
    files: ['compared/report.html'],
    wrong: [['--positions', '0'], /positive integer/],
    missing: ['--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, ...KIVI, '--out', NOWHERE],
  },
  bench: {
    works: [[...SMALL_BENCH, '--out', 'figures.json', '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    files: ['figures.json'],
    wrong: [['--heads', '3/2'], /query heads and kv heads, a multiple/],
    missing: [...SMALL_BENCH, '--compare', 'gone.json'],
    unwritable: [...SMALL_BENCH, '--out', `${NOWHERE}.json`],
  },
  tune: {
    works: [
      [...CAPTURE, '--budget-bits', '5', ...KIVI, ...WINDOWS, '--out', 'tuned.json', '--json'],
      /^\{[\s\S]*"tuned-5"/,
    ],
    files: ['tuned.json'],
    wrong: [['--budget-bits', '-1'], /above 0/],
    missing: ['--budget-bits', '5', '--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, '--budget-bits', '5', '--out', `${NOWHERE}.json`],
  },
  eval: {
    works: [
      [...MODEL, ...TEXT, ...KIVI, ...WINDOW, '--out', 'evaluated', '--json'],
      /^\{[\s\S]*"kivi-4bit-g32"/,
    ],
    files: ['evaluated/report.html'],
    wrong: [[...MODEL, ...TEXT, '--mode', 'slow'], /choices are replay, decode/],
    missing: [...MODEL, '--text', 'gone.txt'],
    unwritable: [...MODEL, ...TEXT, '--out', NOWHERE],
  },
  generate: {
    works: [[...MODEL, ...KIVI, '--raw', '--prompt', 'a b', '--max-tokens', '3'], /\S/],
    wrong: [[...MODEL, ...KIVI, '--prompt', 'a', '--top-k', '-1'], /at least 0/],
    missing: ['--model', './gone', ...KIVI, '--prompt', 'a'],
    unwritable: 'it writes to stdout alone',
  },
  capture: {
    works: [[...MODEL, ...TEXT, '--tokens', '32', '-o', 'made.safetensors'], /^$/],
    files: ['made.safetensors'],
    wrong: [[...MODEL, ...TEXT, '--layers', 'x', '-o', 'a.safetensors'], /at least 0/],
    missing: [...MODEL, '--text', 'gone.txt', '-o', 'a.safetensors'],
    unwritable: [...MODEL, ...TEXT, '--tokens', '32', '-o', `${NOWHERE}.safetensors`],
  },
  calibrate: {
    works: [[...MODEL, ...TEXT, '--scheme', 'oaken-sm', '--tokens', '64', '-o', 'made.json'], /^$/],
    files: ['made.json'],
    wrong: [[...MODEL, ...TEXT, '--scheme', 'oaken', '--tokens', '0', '-o', 'a.json'], /positive/],
    missing: [...MODEL, '--text', 'gone.txt', '--scheme', 'oaken', '-o', 'a.json'],
    unwritable: [...MODEL, ...TEXT, '--scheme', 'oaken', '--tokens', '64', '-o', `${NOWHERE}.json`],
  },
  estimate: {
    works: [[...KIVI, '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--memory', 'much'], /much/],
    missing: ['--config', 'gone.json'],
    unwritable: 'it writes to stdout alone',
  },
  inspect: {
    works: [['tiny.safetensors', '--json'], /^\{[\s\S]*"layers.0.key"/],
    wrong: [['tiny.safetensors', '--tensor', 'query'], /choices are key, value/],
    missing: ['gone.safetensors'],
    unwritable: 'it writes to stdout alone',
  },
  diff: {
    works: [['report.json', 'report.json', '--json'], /^\{/],
    wrong: [['report.json', 'report.json', '--fail-if', 'bits'], /bits/],
    missing: ['report.json', 'gone.json'],
    unwritable: 'it writes to stdout alone',
  },
  merge: {
    works: [['shards', '--out', 'merged', '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    files: ['merged/report.html'],
    wrong: [['shards', '--fail-if', 'bits'], /bits/],
    missing: ['gone.jsonl'],
    unwritable: ['shards', '--out', NOWHERE],
  },
  schemes: {
    works: [['--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--markdown'], /unknown option '--markdown'/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  backends: {
    works: [['--json'], /^\{[\s\S]*"reference"/],
    wrong: [['extra'], /too many arguments/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  completion: {
    works: [['bash'], /^# lowbit-kv completion for bash/],
    wrong: [['tcsh'], /choices are bash, zsh, fish/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  doctor: {
    works: [['--json'], /^\{[\s\S]*"packages"/],
    wrong: [['--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  'export-onnx': {
    works: [[...CAPTURE, ...KIVI, '--out', 'graphs'], /^\/.*\.onnx$/m],
    files: ['graphs/graphs.json', 'graphs/plan.json'],
    wrong: [[...KIVI], /required option '--out <directory>'/],
    missing: [...KIVI, '--out', 'graphs', '--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, ...KIVI, '--out', NOWHERE],
  },
};
