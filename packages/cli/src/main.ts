#!/usr/bin/env node
// Entry of the `lowbit-kv` command.
import { run } from './run.js';
import { processTerminal } from './terminal.js';

process.exitCode = await run(process.argv.slice(2), processTerminal());
