/**
 * Runs a benchmark: every case of every scheme on every device, and a copy on each to compare with.
 */
import { LowbitKvError, type Scheme, schemeFingerprint } from '@lowbit-kv/core';
import { spreadOf } from '@lowbit-kv/core/testing';
import { F16 } from '../f16-scheme.js';
import { refusalOf } from '../refusals.js';
import type { CalibrationOf } from './bench-plan.js';
import type { BenchCase } from './cases.js';
import type { BenchDevice } from './device.js';
import { machineFacts } from './machine.js';
import { type MeasureOptions, measureCase } from './measure.js';
import { pause } from './pause.js';
import {
  BENCH_REPORT_VERSION,
  type BenchBackend,
  type BenchReport,
  type BenchRow,
} from './report.js';

export interface BenchOptions {
  /** Measured after f16, which is always there. */
  readonly schemes: readonly Scheme[];
  readonly devices: readonly BenchDevice[];
  readonly cases: readonly BenchCase[];
  readonly samples: number;
  readonly warmUpMilliseconds: number;
  /** Default false. */
  readonly allowEmulation?: boolean;
  /** For schemes that are calibrated offline but bring no `calibrate`. Default: they are refused. */
  readonly calibrationOf?: CalibrationOf;
  readonly tool: BenchReport['tool'];
  readonly command?: string;
  readonly onProgress?: (progress: BenchProgress) => void;
  readonly signal?: AbortSignal;
}

export interface BenchProgress {
  /** From 0. */
  readonly row: number;
  readonly rows: number;
  readonly backend: string;
  readonly scheme: string;
  readonly case: BenchCase;
}

/** A copy takes long, and its times differ little. */
const MOST_COPIES = 15;
/** Bytes of the copy, where caches are smaller or not known. */
const COPY_BYTES = 256e6;
const CACHE_FACTOR = 4;

/** Codes that mean: the backend did not manage this shape. */
const FAILURES = ['BACKEND_FAILED', 'DEVICE_OUT_OF_MEMORY', 'OUTLIER_CAPACITY'] as const;

/** A case that does not fit is a row with its reason. Throws the reason of the signal when it aborts. */
export async function runBench(options: BenchOptions): Promise<BenchReport> {
  const { devices, cases, samples, warmUpMilliseconds, signal, tool } = options;
  const date = new Date().toISOString();
  const schemes = [F16, ...options.schemes.filter(({ id }) => id !== F16.id)];
  const measuring: MeasureOptions = {
    samples,
    warmUpMilliseconds,
    allowEmulation: options.allowEmulation ?? false,
    calibrationOf: options.calibrationOf ?? (() => null),
    signal,
  };
  const backends: BenchBackend[] = [];
  const rows: BenchRow[] = [];
  for (const device of devices) {
    const before = await device.facts();
    const { id } = device.backend;
    const copy = await measureCopy(device, samples);
    for (const benchCase of cases) {
      for (const scheme of schemes) {
        await pause(signal);
        options.onProgress?.({
          row: rows.length,
          rows: devices.length * cases.length * schemes.length,
          backend: id,
          scheme: scheme.id,
          case: benchCase,
        });
        rows.push(await rowOf(device, scheme, benchCase, measuring, copy.bytesPerSecond));
      }
    }
    const after = await device.facts();
    backends.push({
      id,
      device: before.device,
      driver: before.driver,
      clocks:
        before.clocks === null || after.clocks === null
          ? null
          : { before: before.clocks, after: after.clocks },
      clock: device.clock,
      lastLevelCacheBytes: device.lastLevelCacheBytes,
      copy,
    });
  }
  return {
    reportVersion: BENCH_REPORT_VERSION,
    kind: 'bench',
    date,
    tool,
    command: options.command ?? null,
    machine: machineFacts(),
    settings: { samples, warmUpMilliseconds },
    backends,
    rows,
  };
}

async function rowOf(
  device: BenchDevice,
  scheme: Scheme,
  benchCase: BenchCase,
  options: MeasureOptions,
  copyRate: number,
): Promise<BenchRow> {
  const identity = {
    scheme: scheme.id,
    fingerprint: schemeFingerprint(scheme),
    backend: device.backend.id,
    operation: benchCase.operation,
    shape: benchCase.shape,
  };
  try {
    const measured = await measureCase(device, scheme, benchCase, options);
    const microseconds = spreadOf(measured.microseconds);
    const bytesPerSecond = rateOf(measured.bytes, microseconds.median);
    return {
      status: 'measured',
      ...identity,
      microseconds,
      bytes: measured.bytes,
      bytesPerSecond,
      shareOfCopy: bytesPerSecond / copyRate,
      layers: measured.layers,
      rotatedBytes: measured.rotatedBytes,
      emulated: [...measured.emulated],
    };
  } catch (error) {
    const refusal = unmeasuredOf(error);
    if (refusal === null) throw error;
    return { ...identity, ...refusal };
  }
}

function unmeasuredOf(error: unknown): ReturnType<typeof refusalOf> {
  if (!FAILURES.some((code) => LowbitKvError.is(error, code))) return refusalOf(error);
  const { code, message } = error as LowbitKvError;
  return { status: 'failed', code, reason: message.slice(code.length + 2) };
}

async function measureCopy(device: BenchDevice, samples: number): Promise<BenchBackend['copy']> {
  const wanted = Math.max(COPY_BYTES, CACHE_FACTOR * (device.lastLevelCacheBytes ?? 0));
  const { bytes, microseconds } = await device.copy(wanted, Math.min(samples, MOST_COPIES));
  const times = spreadOf(microseconds);
  return { microseconds: times, bytes, bytesPerSecond: rateOf(2 * bytes, times.median) };
}

/** A clock that shows nothing gives no rate. */
function rateOf(bytes: number, microseconds: number): number {
  return microseconds > 0 ? bytes / (microseconds / 1e6) : 0;
}
