#!/usr/bin/env node
// Entry of the `lowbit-kv` command.
export {};
