/** Devices with a clock of the test, and reports with times of the test. */
import { referenceBackend } from '@lowbit-kv/core';
import { spreadOf } from '@lowbit-kv/core/testing';
import {
  type BenchDevice,
  type BenchMeasuredRow,
  type BenchReport,
  type BenchShape,
  hostDevice,
} from '../../src/index.js';

/** The reference backend; what is asked of the clock is written down. */
export function scriptedDevice(): BenchDevice & { readonly asked: string[] } {
  const host = hostDevice(referenceBackend(), { lastLevelCacheBytes: 40_000 });
  const asked: string[] = [];
  let once = 0;
  return {
    ...host,
    asked,
    stepLayers: 3,
    facts: async () => ({ device: 'a card', driver: 'driver 1', clocks: `${asked.length} MHz` }),
    async copy(bytes, samples) {
      asked.push(`copy ${bytes}`);
      return { bytes, microseconds: Array.from({ length: samples }, () => 1000) };
    },
    async once(work, settle) {
      work();
      await settle();
      asked.push('once');
      return ++once;
    },
    async repeat(attend, { layers, samples }) {
      const first = await attend(0).read();
      for (let layer = 1; layer < layers; layer++) await attend(layer).read();
      const kind = first.output.data.some((x) => x !== 0) ? 'values' : 'zeros';
      asked.push(`${layers} layers, ${first.output.shape}, ${kind}`);
      return Array.from({ length: samples }, (_, i) => 10 + i);
    },
  };
}

export const SHAPE: BenchShape = {
  ...{ batch: 1, context: 1024, tokens: 1, queryHeads: 8, kvHeads: 2, headDim: 64 },
};

type RowChange = Partial<
  Pick<BenchMeasuredRow, 'scheme' | 'backend' | 'operation' | 'fingerprint'>
> & {
  readonly shape?: Partial<BenchShape>;
};

/** A row whose samples are these. */
export function benchRow(samples: readonly number[], change: RowChange = {}): BenchMeasuredRow {
  return {
    status: 'measured',
    scheme: 'four',
    fingerprint: 'a',
    backend: 'reference',
    operation: 'attend',
    ...change,
    shape: { ...SHAPE, ...change.shape },
    microseconds: spreadOf(samples),
    bytes: 1000,
    bytesPerSecond: 1e6,
    shareOfCopy: 0.5,
    layers: 4,
    rotatedBytes: 4000,
    emulated: [],
  };
}

export function benchReport(rows: BenchReport['rows']): BenchReport {
  return {
    reportVersion: 1,
    kind: 'bench',
    date: '2026-12-01T00:00:00.000Z',
    tool: { version: '0.1.0', commit: null },
    command: null,
    machine: {
      ...{
        platform: 'linux x64',
        processor: 'a processor',
        cores: 2,
        memoryBytes: 1,
        runtime: 'node',
      },
    },
    settings: { samples: 3, warmUpMilliseconds: 0 },
    backends: [
      {
        id: 'reference',
        device: 'a card',
        driver: null,
        clocks: null,
        clock: 'host',
        lastLevelCacheBytes: 1000,
        copy: { microseconds: spreadOf([1, 2, 3]), bytes: 1, bytesPerSecond: 1e6 },
      },
    ],
    rows,
  };
}
