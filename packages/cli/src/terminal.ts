/**
 * Where the command writes: data to stdout, everything else to stderr, colours and progress only to a terminal.
 */
import { homedir } from 'node:os';
import picocolors from 'picocolors';
import { visibleText } from './visible-text.js';

export type Colors = ReturnType<typeof picocolors.createColors>;

export interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface TerminalOptions {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's directory: paths and packages are resolved from here. */
  readonly directory: string;
  /** Program and arguments that start this command again; absent when it is not a process of its own. */
  readonly self?: readonly string[];
  /** What the user typed, for reports. */
  readonly commandLine?: string;
  /** Aborts when the user wants the command to stop. Default: never. */
  readonly interruption?: () => AbortSignal;
  /** Aborts when nobody reads stdout any more (`| head`). Default: never. */
  readonly readerGone?: AbortSignal;
}

/** Exit code, as shells give it for SIGINT. */
export const INTERRUPTED = 130;

/** Why a command stopped: the user wanted it. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
  }
}

export class Terminal {
  readonly environment: TerminalOptions['environment'];
  readonly directory: string;
  readonly self: readonly string[] | undefined;
  readonly commandLine: string | undefined;
  /** Aborts when the user wants the command to stop; who asks for it has to stop by it. */
  readonly interruption: () => AbortSignal;
  /** Data is dropped from here on; files are still written, and gates judged. */
  readonly readerGone: AbortSignal;
  readonly #stdout: TextStream;
  readonly #stderr: TextStream;
  #statusShown = false;

  constructor(options: TerminalOptions) {
    this.#stdout = options.stdout;
    this.#stderr = options.stderr;
    this.environment = options.environment;
    this.directory = options.directory;
    this.self = options.self;
    this.commandLine = options.commandLine;
    this.interruption = options.interruption ?? (() => new AbortController().signal);
    this.readerGone = options.readerGone ?? new AbortController().signal;
  }

  /** Writes data that is no whole line. */
  write(text: string): void {
    this.clearStatus();
    this.#stdout.write(this.#shown(text));
  }

  /** Writes a line of data. */
  print(text: string): void {
    this.#stdout.write(`${this.#shown(text)}\n`);
  }

  /** Writes a line for people. */
  note(text: string): void {
    this.clearStatus();
    this.#stderr.write(`${visibleText(text)}\n`);
  }

  /** Shows a line that the next one replaces; nothing unless stderr is a terminal. */
  status(text: string): void {
    if (this.#stderr.isTTY !== true) return;
    const width = (this.#stderr.columns ?? 80) - 1;
    this.#stderr.write(`\r\u001b[2K${visibleText(text).slice(0, width)}`);
    this.#statusShown = true;
  }

  clearStatus(): void {
    if (!this.#statusShown) return;
    this.#stderr.write('\r\u001b[2K');
    this.#statusShown = false;
  }

  get outColors(): Colors {
    return this.#colors(this.#stdout);
  }

  get errColors(): Colors {
    return this.#colors(this.#stderr);
  }

  /** Whether stdout shows colours. */
  get colored(): boolean {
    return this.outColors.isColorSupported;
  }

  /** Data stays what it is where it goes to a file or another program. */
  #shown(text: string): string {
    return this.#stdout.isTTY === true ? visibleText(text) : text;
  }

  #colors(stream: TextStream): Colors {
    const { NO_COLOR = '', FORCE_COLOR = '', TERM } = this.environment;
    const isForced = FORCE_COLOR !== '' && FORCE_COLOR !== '0';
    const isShown = isForced || (stream.isTTY === true && FORCE_COLOR !== '0' && TERM !== 'dumb');
    return picocolors.createColors(NO_COLOR === '' && isShown);
  }
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const stdout = untilReaderGoes(process.stdout);
  return new Terminal({
    stdout: stdout.stream,
    stderr: untilReaderGoes(process.stderr).stream,
    environment: process.env,
    directory: process.cwd(),
    self: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    commandLine: ['lowbit-kv', ...process.argv.slice(2).map(quoted)].join(' '),
    interruption: onceInterrupted(),
    readerGone: stdout.gone,
  });
}

/** Drops what is written after the reader has closed the pipe, so that the command ends quietly and whole. */
function untilReaderGoes(stream: NodeJS.WriteStream): { stream: TextStream; gone: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return controller.abort();
    // A full disk, say: nothing more can be told on this stream.
    if (stream === process.stdout) process.stderr.write(`error: stdout: ${error.message}\n`);
    process.exit(1);
  });
  const text: TextStream = {
    isTTY: stream.isTTY,
    get columns() {
      return stream.columns;
    },
    write: (written) => signal.aborted || stream.write(written),
  };
  return { stream: text, gone: signal };
}

/** An argument as a shell takes it, the user's home as `~`: reports are published. */
function quoted(argument: string): string {
  const home = homedir();
  if (home !== '/' && argument.startsWith(`${home}/`))
    return `~${quotedWords(argument.slice(home.length))}`;
  return quotedWords(argument);
}

function quotedWords(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** Programs that start this one may hand on a signal that came to both. */
const SAME_INTERRUPTION_MILLISECONDS = 500;

/** The first Ctrl-C aborts, the next one ends the process. Nobody listens before the signal is asked for. */
function onceInterrupted(): () => AbortSignal {
  const controller = new AbortController();
  let listens = false;
  return () => {
    if (!listens) {
      let first = Number.POSITIVE_INFINITY;
      process.on('SIGINT', () => {
        const now = performance.now();
        if (controller.signal.aborted && now - first > SAME_INTERRUPTION_MILLISECONDS)
          process.exit(INTERRUPTED);
        first = Math.min(first, now);
        controller.abort(new Interrupted());
      });
      listens = true;
    }
    return controller.signal;
  };
}
