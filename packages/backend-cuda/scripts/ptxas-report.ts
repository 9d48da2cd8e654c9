/**
 * What `ptxas -v` says of kernels.
 */

export interface Usage {
  readonly registers: number;
  /** Stores and loads of a lane. */
  readonly spilledBytes: number;
}

/** By entry. Numbers that the report lacks are NaN. */
export function usageOf(report: string): Map<string, Usage> {
  const entries = report.split(/Compiling entry function '/).slice(1);
  return new Map(
    entries.map((entry) => {
      const [, stores, loads] =
        /(\d+) bytes spill stores, (\d+) bytes spill loads/.exec(entry) ?? [];
      const [, registers] = /Used (\d+) registers/.exec(entry) ?? [];
      const usage = { registers: Number(registers), spilledBytes: Number(stores) + Number(loads) };
      return [entry.slice(0, entry.indexOf("'")), usage];
    }),
  );
}
