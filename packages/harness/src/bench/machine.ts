/**
 * The machine of a benchmark: what a report says of it, and whether figures of two may be compared.
 */
import { cpus, totalmem } from 'node:os';
import type { BenchDevice } from './device.js';
import type { BenchBackend, BenchReport } from './report.js';

/** What figures depend on; a report has it. */
export interface BenchMachine {
  readonly machine: Pick<BenchReport['machine'], 'processor'>;
  readonly backends: readonly Pick<BenchBackend, 'id' | 'device' | 'clock'>[];
}

/** This one. */
export function machineFacts(): BenchReport['machine'] {
  return {
    platform: `${process.platform} ${process.arch}`,
    processor: cpus()[0]?.model ?? 'unknown',
    cores: Math.max(1, cpus().length),
    memoryBytes: totalmem(),
    runtime: `node ${process.version}`,
  };
}

/** Of a benchmark that has not run yet. */
export async function benchMachine(devices: readonly BenchDevice[]): Promise<BenchMachine> {
  const backends = devices.map(async (device) => {
    const { backend, clock } = device;
    return { id: backend.id, device: (await device.facts()).device, clock };
  });
  return { machine: machineFacts(), backends: await Promise.all(backends) };
}

/** In words, why figures of two machines are not to be compared; empty when they may be. */
export function machineDifferences(before: BenchMachine, after: BenchMachine): string[] {
  return after.backends.flatMap(({ id, device, clock }) => {
    const base = before.backends.find((backend) => backend.id === id);
    if (base === undefined) return [];
    const pairs: [string, string, string][] = [
      ['device', base.device, device],
      ['clock', base.clock, clock],
    ];
    if (clock === 'host')
      pairs.push(['processor', before.machine.processor, after.machine.processor]);
    return pairs
      .filter(([, was, is]) => was !== is)
      .map(
        ([name, was, is]) => `${id}: ${name} was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`,
      );
  });
}
