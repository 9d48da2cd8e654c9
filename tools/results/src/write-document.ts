// `pnpm results`: compares the whole shelf, tunes at 3.25 bits, and fills the generated parts of docs/results.md. Takes minutes.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compareReportSchema, type TuneReport } from '@lowbit-kv/harness';
import { fillParts } from '../../../packages/core/scripts/generated-parts.js';
import { generatedParts } from './parts.js';
import { machine, runCommand } from './run.js';

const path = fileURLToPath(new URL('../../../docs/results.md', import.meta.url));

const comparison = await runCommand(['compare', '--all', '--json']);
const tuning = await runCommand(['tune', '--budget-bits', '3.25', '--json']);
const parts = generatedParts(
  {
    command: 'npx -y pnpm@12.4.2 compare --all',
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    seconds: comparison.seconds,
    processorSeconds: comparison.processorSeconds,
  },
  compareReportSchema.parse(comparison.report),
  {
    command: 'npx -y pnpm@12.4.2 tune --budget-bits 3.25',
    report: tuning.report as TuneReport,
  },
);
writeFileSync(path, fillParts(readFileSync(path, 'utf8'), parts));
console.log(path);
