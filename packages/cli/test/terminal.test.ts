// Where text goes, and when it has colours.
import { expect, test } from 'vitest';
import { Terminal } from '../src/index.js';

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
  [false, { FORCE_COLOR: '1' }, false],
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
