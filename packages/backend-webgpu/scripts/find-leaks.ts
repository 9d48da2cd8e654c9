/**
 * Counts what caches and steps leave behind, on SwiftShader: `find-leaks.ts [caches] [steps]`.
 */
import { leaksOf } from '../test/support/leaks.js';

const [caches, steps] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 10_000)];
const before = process.memoryUsage().rss;
const report = await leaksOf(caches, steps);
const mebibytes = (process.memoryUsage().rss - before) / 2 ** 20;
console.log(`${caches} caches, ${steps} steps:`, report);
console.log(`resident memory grew by ${mebibytes.toFixed(0)} MiB`);
const { newPipelines, newBuffers, grown, leftOver } = report;
if (newPipelines + newBuffers + grown + leftOver.length > 0) process.exitCode = 1;
