/**
 * `lowbit-kv tune`: chooses keys and values per layer under a budget of bits and writes the scheme to a file.
 */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createLowbitKv, LowbitKvError } from '@lowbit-kv/core';
import {
  defaultCapturePath,
  formatTuneReport,
  openCapture,
  type TuneReport,
  tuneScheme,
} from '@lowbit-kv/harness';
import { createBackends } from '../backends.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';

export interface TuneCommandOptions {
  readonly budgetBits: number;
  readonly capture?: string;
  readonly out?: string;
  readonly scheme?: readonly string[];
  readonly backend: string;
  readonly sinks?: number;
  readonly recent?: number;
  readonly positions?: number;
  readonly modelLayers?: number;
  readonly id?: string;
  readonly json?: boolean;
}

export async function tune(terminal: Terminal, options: TuneCommandOptions): Promise<undefined> {
  const { budgetBits, positions, modelLayers, id } = options;
  const named = await resolveSchemes(options.scheme, terminal, options.scheme === undefined);
  const kv = createLowbitKv({
    schemes: named.map(({ scheme }) => scheme),
    backends: await createBackends(options.backend),
  });
  const capture = await openCapture(
    options.capture === undefined
      ? defaultCapturePath()
      : resolve(terminal.directory, options.capture),
  );
  try {
    const report = await tuneScheme({
      capture,
      presets: kv.schemes.list(),
      budgetBits,
      backend: kv.backends.get(options.backend),
      windows: {
        ...(options.sinks === undefined ? {} : { sinks: options.sinks }),
        ...(options.recent === undefined ? {} : { recent: options.recent }),
      },
      ...(positions === undefined ? {} : { positions }),
      ...(modelLayers === undefined ? {} : { modelLayers }),
      ...(id === undefined ? {} : { id }),
      onProgress: (what) => terminal.status(what),
    });
    terminal.clearStatus();
    if (options.out !== undefined) await writeSchemeFile(terminal, options.out, report);
    terminal.print(
      options.json === true ? JSON.stringify(report, null, 2) : formatTuneReport(report),
    );
  } finally {
    await capture.close();
  }
  return;
}

async function writeSchemeFile(terminal: Terminal, out: string, report: TuneReport): Promise<void> {
  const path = resolve(terminal.directory, out);
  try {
    await writeFile(path, `${JSON.stringify(report.schemeFile, null, 2)}\n`);
  } catch (cause) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: '--out cannot be written',
      value: path,
      valid: 'a file in a folder that exists',
      next: `Choose another path (${cause instanceof Error ? cause.message : String(cause)}).`,
      cause,
    });
  }
  terminal.note(`${path}: use it with --scheme ${out}`);
}
