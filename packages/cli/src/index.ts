/**
 * Public entry of lowbit-kv: the command as a function, for callers that bring their own streams.
 */
export { run } from './run.js';
export { processTerminal, Terminal, type TerminalOptions, type TextStream } from './terminal.js';
