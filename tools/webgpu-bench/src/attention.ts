/**
 * Attention of the WebGPU backend through its public API: time of one decode step per layer over caches as `append` packs
 * them, and errors. Prints Markdown; `--out file.json` keeps the figures. See the README.
 */
import { writeFileSync } from 'node:fs';
import { type WebGpuBackend, webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { LowbitKvError, type Plan, planBytes } from '@lowbit-kv/core';
import { type FilledCache, fillCache, raggedLengths } from '@lowbit-kv/harness';
import { Burner } from '../../../packages/backend-webgpu/bench/burner.js';
import { openDevice } from '../../../packages/backend-webgpu/bench/device.js';
import { DataSource } from './data-source.js';
import { type Flags, type Precision, readFlags, type Shape } from './flags.js';
import { createErrorCase, DATA_KINDS, measureErrors } from './measure-errors.js';
import { KV_HEADS, PLANS, type PlanEntry, planOf } from './plans.js';
import { type ErrorRow, errorTable, type RefusedRow, type SpeedRow, speedTable } from './report.js';
import { timeStep } from './time-step.js';

/** Layers are met in turn; together they hold more than the caches of a GPU do. */
const ROTATED_BYTES = 128e6;
const MOST_LAYERS = 16;
const ERROR_SEQUENCES = 2;

const flags = readFlags(process.argv.slice(2));
const { device, languageFeatures } = await openDevice();
if (flags.speed && !device.features.has('timestamp-query'))
  throw new Error('no timestamp-query on this device: only --no-speed works');
const failures: string[] = [];
device.addEventListener('uncapturederror', ({ error }) => failures.push(error.message));

const chosen = PLANS.filter(({ name, inTable }) =>
  flags.plans.length === 0 ? inTable : flags.plans.some((part) => name.includes(part)),
);
const source = new DataSource(device);
const burner = flags.speed && flags.warmMicroseconds > 0 ? await Burner.create(device) : null;
const queryHeads = KV_HEADS * (flags.shapes[0] as Shape).group;
const cases = flags.errors
  ? DATA_KINDS.map((data) => createErrorCase(data, ERROR_SEQUENCES, flags.errorTokens, queryHeads))
  : [];
const speed: (SpeedRow | RefusedRow)[] = [];
const errors: ErrorRow[] = [];
for (const precision of flags.precisions) {
  const backend = webgpuBackend({ device, precision, wgslLanguageFeatures: languageFeatures });
  for (const entry of chosen) {
    if (flags.errors) errors.push(...(await errorsOf(entry, backend, precision)));
    if (!flags.speed) continue;
    for (const shape of flags.shapes)
      speed.push(await speedOf(entry, backend, precision, shape, flags));
  }
  backend.dispose();
}
if (failures.length > 0) throw new Error(`GPU errors: ${failures.join('; ').slice(0, 4000)}`);
if (flags.out !== undefined) {
  const { vendor, architecture, description } = device.adapterInfo;
  const adapter = [vendor, architecture, description].join(' ');
  const record = { date: new Date().toISOString(), adapter, flags, speed, errors };
  writeFileSync(flags.out, `${JSON.stringify(record, null, 2)}\n`);
}
for (const row of speed) if ('refused' in row) console.log(`${row.plan}: ${row.refused}`);
if (errors.length > 0) console.log(`\n${errorTable(errors)}`);
if (speed.length > 0) console.log(`\n${speedTable(speed)}`);
// Dawn keeps the process alive.
process.exit(0);

async function errorsOf(
  entry: PlanEntry,
  backend: WebGpuBackend,
  precision: Precision,
): Promise<ErrorRow[]> {
  const rows: ErrorRow[] = [];
  for (const errorCase of cases) {
    const plan = await planOf(entry, 1, errorCase.queryHeads);
    const measured = await measureErrors(plan, backend, errorCase);
    rows.push({ plan: entry.name, precision, ...measured });
  }
  return rows;
}

async function speedOf(
  entry: PlanEntry,
  backend: WebGpuBackend,
  precision: Precision,
  shape: Shape,
  { layers: wantedLayers, bandwidth, samples, warmMicroseconds }: Flags,
): Promise<SpeedRow | RefusedRow> {
  const queryHeads = KV_HEADS * shape.group;
  const lengths = raggedLengths(shape.tokens, shape.batch);
  // As the step that is timed sees them.
  const bytes = bytesOf(
    await planOf(entry, 1, queryHeads),
    lengths.map((length) => length + 1),
  );
  const layers = wantedLayers || Math.min(MOST_LAYERS, Math.ceil(ROTATED_BYTES / bytes));
  const plan = await planOf(entry, layers, queryHeads);
  const row = { plan: entry.name, precision, ...shape };
  const began = performance.now();
  let filled: FilledCache;
  try {
    filled = await fillCache(plan, backend, source, lengths, { more: 1 });
    await device.queue.onSubmittedWorkDone();
  } catch (error) {
    if (!LowbitKvError.is(error, 'BACKEND_FAILED')) throw error;
    return { ...row, refused: error.message };
  }
  try {
    const packed = performance.now();
    const options = { queryHeads, queries: shape.queries, samples, warmMicroseconds, burner };
    const times = await timeStep(backend, source, filled, options);
    const done = performance.now();
    const seconds = [packed - began, done - packed].map((ms) => (ms / 1000).toFixed(1));
    console.error(
      `${entry.name} ${precision} ${shape.batch} x ${shape.tokens}: ${times.attend.toFixed(1)} us; filled in ${seconds[0]} s, timed in ${seconds[1]} s`,
    );
    const rate = bytes / (times.attend / 1e6);
    return { ...row, ...times, layers, bytes, rate, shareOfFloor: rate / bandwidth };
  } finally {
    filled.cache.dispose();
  }
}

/** Canonical bytes of one layer, without padding; outliers as the scheme foresees them. */
function bytesOf(plan: Plan, lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => {
    const { codes, parameters, outliers, windows, statistics } = planBytes(plan, length);
    return sum + codes + parameters + outliers.expected + windows + statistics;
  }, 0);
}
