/**
 * Public entry of lowbit-kv: the command as a function, for callers that bring their own streams.
 */
export { type Config, defineConfig } from './config/define-config.js';
export type { GateBlock, Settings } from './config/settings.js';
export { run } from './run.js';
export { processTerminal, Terminal, type TerminalOptions, type TextStream } from './terminal.js';
