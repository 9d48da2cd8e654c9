// `pnpm soak --backend NAME`: random programs, faults or churn for long; fails where cache and model differ or memory grows.
import { appendFileSync, writeFileSync } from 'node:fs';
import { BACKENDS } from './backends.js';
import { parseOptions } from './options.js';
import { CSV_HEADER, csvLine } from './samples.js';
import { soak } from './soak.js';

const options = parseOptions(process.argv.slice(2));
const { backend, mode, operations, seed, out } = options;
console.log(`soak of ${backend}, ${mode}: ${operations} operations, seed ${seed}`);
console.log(CSV_HEADER);
if (out !== undefined) writeFileSync(out, `${CSV_HEADER}\n`);
const result = await soak(BACKENDS[backend], options, (sample) => {
  console.log(csvLine(sample));
  if (out !== undefined) appendFileSync(out, `${csvLine(sample)}\n`);
});
console.log(`${result.operations} operations in ${result.seconds.toFixed(1)} s: ${result.tally}`);
for (const fault of result.faults) console.error(fault);
process.exit(result.faults.length === 0 ? 0 : 1);
