// docs/contract-suite.md is a program: here it registers the suite for the reference backend and for two inline schemes.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as contract from '../../src/contract/index.js';
import { defineScheme, referenceBackend } from '../../src/index.js';
import type { describePrograms } from '../../src/programs/index.js';
import { asymmetric, channelScaled, inlineScheme, symmetric } from '../../src/testing/index.js';
import { documentProgram, runProgram } from '../support/document-program.js';
import { shareOfToday } from '../support/share-of-today.js';

const presets = [
  inlineScheme({
    key: channelScaled(symmetric(3, 'fullSigned', 'channels', 32), 24),
    value: asymmetric(8, 'tokens', 32, { recent: 16, flush: 32 }),
    sinks: 3,
  }),
  inlineScheme({
    key: symmetric(4, 'signmag', 'tokens', 16),
    value: { bits: 16 },
    packing: 'after-attention',
  }),
].map(defineScheme);

const text = readFileSync(new URL('../../docs/contract-suite.md', import.meta.url), 'utf8');
const registered: string[] = [];
const programs: string[] = [];
await runProgram(documentProgram(text).code, {
  '@lowbit-kv/core/contract': {
    describeBackend: (...args: Parameters<typeof contract.describeBackend>) => {
      registered.push(args[0].id);
      const [backend, options] = args;
      const share = shareOfToday('plans of the reference', 4);
      contract.describeBackend(backend, { ...options, share });
    },
    describeScheme: (...args: Parameters<typeof contract.describeScheme>) => {
      registered.push(args[0].id);
      contract.describeScheme(...args);
    },
  },
  // packages/core/test/programs runs them.
  '@lowbit-kv/core/programs': {
    describePrograms: (...args: Parameters<typeof describePrograms>) => {
      programs.push(args[0].id);
    },
  },
  '../src/index.js': { presets, myBackend: referenceBackend },
});

test('the document registers every scheme and the backend', () => {
  expect(registered).toEqual([...presets.map(({ id }) => id), 'reference']);
  expect(programs).toEqual(['reference']);
});
