/**
 * Counts what caches and steps leave behind, on SwiftShader: `find-leaks.ts [caches] [steps]`.
 */
import { leaksOf } from '../test/support/leaks.js';

const [caches, steps] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 10_000)];
const before = process.memoryUsage().rss;
const report = await leaksOf(caches, steps);
const grown = (process.memoryUsage().rss - before) / 2 ** 20;
console.log(`${caches} caches, ${steps} steps:`, report);
console.log(`resident memory grew by ${grown.toFixed(0)} MiB`);
const { newPipelines, newBuffers, leftOver } = report;
if (newPipelines + newBuffers + leftOver.length > 0) process.exitCode = 1;
