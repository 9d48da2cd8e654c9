/**
 * Memory and handles of this process over time, and whether they grow.
 */
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Sample {
  readonly seconds: number;
  readonly operations: number;
  readonly residentMiB: number;
  /** Live JavaScript objects and the buffers that they hold. */
  readonly heapMiB: number;
  /** Timers, sockets, workers and the like of the event loop. */
  readonly handles: number;
  /** -1 where the system does not list them. */
  readonly files: number;
  /** What the backend counts. */
  readonly device: Readonly<Record<string, number>>;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

export function takeSample(
  seconds: number,
  operations: number,
  device: Readonly<Record<string, number>>,
): Sample {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const round = (bytes: number) => Math.round((bytes / 2 ** 20) * 10) / 10;
  return {
    seconds: Math.round(seconds * 10) / 10,
    operations,
    residentMiB: round(rss),
    heapMiB: round(heapUsed + external),
    handles: process.getActiveResourcesInfo().length,
    files: openFiles(),
    device,
  };
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return -1;
  }
}

export const CSV_HEADER = 'seconds,operations,residentMiB,heapMiB,handles,files,device';

export function csvLine({ device, ...sample }: Sample): string {
  const held = Object.entries(device).map(([name, count]) => `${name}=${count}`);
  return [...Object.values(sample), held.join(' ')].join(',');
}

/** What may be added between the second and the last quarter of a run. */
const ALLOWED: Readonly<Record<string, (before: number) => number>> = {
  // Allocators keep what they had; a leak of a page per operation is far above this.
  residentMiB: (before) => 32 + 0.1 * before,
  heapMiB: (before) => 8 + 0.1 * before,
  handles: () => 2,
  files: () => 2,
};

/** One line per figure that grows; the first quarter is for what is made once. `fixedPlan`: what a device counts too. */
export function growth(samples: readonly Sample[], fixedPlan: boolean): string[] {
  if (samples.length < 8) return [];
  const quarter = samples.length / 4;
  const second = samples.slice(Math.floor(quarter), Math.floor(2 * quarter));
  const last = samples.slice(Math.floor(3 * quarter));
  const figures = (sample: Sample): Record<string, number> => {
    const { residentMiB, heapMiB, handles, files, device } = sample;
    return { residentMiB, heapMiB, handles, files, ...(fixedPlan ? device : {}) };
  };
  const least = (part: readonly Sample[], name: string) =>
    Math.min(...part.map((sample) => figures(sample)[name] ?? 0));
  return Object.keys(figures(last[0] as Sample)).flatMap((name) => {
    const [before, after] = [least(second, name), least(last, name)];
    const allowed = (ALLOWED[name] ?? (() => 0))(before);
    if (after - before <= allowed) return [];
    return [`${name} grew from ${before} to ${after}; at most ${allowed.toFixed(1)} may be added`];
  });
}
