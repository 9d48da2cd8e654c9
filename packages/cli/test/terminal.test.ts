// Where text goes, and when it has colours.
import { homedir } from 'node:os';
import { afterEach, expect, test, vi } from 'vitest';
import { Terminal } from '../src/index.js';
import { Interrupted, processTerminal } from '../src/terminal.js';

function terminalOf(isTTY: boolean, environment: Record<string, string> = {}) {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    isTTY,
    columns: 20,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = new Terminal({
    stdout: stream('out'),
    stderr: stream('err'),
    environment,
    directory: '.',
  });
  return { terminal, written };
}

test.each<[boolean, Record<string, string>, boolean]>([
  [true, {}, true],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
  [false, {}, false],
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: '0' }, false],
  [true, { FORCE_COLOR: '0' }, false],
  [true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('terminal %s with %j has colours: %s', (isTTY, environment, colored) => {
  const { terminal } = terminalOf(isTTY, environment);
  expect(terminal.outColors.red('x') !== 'x').toBe(colored);
  expect(terminal.errColors.red('x') !== 'x').toBe(colored);
});

test('a status replaces the one before, fits the line and is gone before a note', () => {
  const { terminal, written } = terminalOf(true);
  terminal.status('first');
  terminal.status('a text that is longer than the terminal is wide');
  terminal.note('note');
  expect(written).toEqual({
    out: '',
    err: '\r\u001b[2Kfirst\r\u001b[2Ka text that is long\r\u001b[2Knote\n',
  });
});

test('there is no status without a terminal', () => {
  const { terminal, written } = terminalOf(false);
  terminal.status('first');
  terminal.print('data');
  expect(written).toEqual({ out: 'data\n', err: '' });
});

test.each<[string, string, string]>([
  ['clears the screen', '\u001b[2Jx', '\\u001b[2Jx'],
  ['renames the window', '\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['hides text', '\u001b[8mhidden', '\\u001b[8mhidden'],
  ['overwrites the line', 'safe\rbad\b', 'safe\\u000dbad\\u0008'],
  ['is an escape of one character', '\u009b2J\u007f', '\\u009b2J\\u007f'],
  ['turns text around', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['is what we write', 'a\tb\r\nc\n\u001b[1m\u001b[31mred\u001b[39m\u001b[22m', ''],
])('what %s', (_, text, shown) => {
  const visible = shown === '' ? text : shown;
  const { terminal, written } = terminalOf(true);
  terminal.print(text);
  terminal.write(text);
  terminal.note(text);
  expect(written).toEqual({ out: `${visible}\n${visible}`, err: `${visible}\n` });
  // Data for a file or another program stays what it is.
  const piped = terminalOf(false);
  piped.terminal.print(text);
  piped.terminal.note(text);
  expect(piped.written).toEqual({ out: `${text}\n`, err: `${visible}\n` });
});

const before = process.listeners('SIGINT');
afterEach(() => {
  vi.restoreAllMocks();
  for (const listener of process.listeners('SIGINT'))
    if (!before.includes(listener)) process.off('SIGINT', listener);
});

test('a Ctrl-C that comes twice at once is one, and a later one ends the process', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const signal = processTerminal().interruption();
  expect(signal.aborted).toBe(false);
  process.emit('SIGINT');
  expect(signal.reason).toBeInstanceOf(Interrupted);
  now.mockReturnValue(1400);
  process.emit('SIGINT');
  expect(exit).not.toHaveBeenCalled();
  now.mockReturnValue(1501);
  process.emit('SIGINT');
  expect(exit).toHaveBeenCalledExactlyOnceWith(130);
});

test('nobody listens for Ctrl-C before a command wants to stop by it', () => {
  processTerminal();
  expect(process.listeners('SIGINT')).toEqual(before);
});

test('the command line as a shell takes it, with ~ for the home of the user', () => {
  const home = homedir();
  const given = ['compare', `${home}/my model/a.json`, "it's", `${home}x`, '--json'];
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'main.js', ...given]);
  expect(processTerminal().commandLine).toBe(
    `lowbit-kv compare ~'/my model/a.json' 'it'\\''s' ${home}x --json`,
  );
});
