/**
 * `lowbit-kv tune`: chooses keys and values per layer under a budget of bits and writes the scheme to a file.
 */
import { resolve } from 'node:path';
import {
  defaultCapturePath,
  formatTuneReport,
  openCapture,
  type TuneProgress,
  tuneScheme,
} from '@lowbit-kv/harness';
import { openRegistry } from '../open-registry.js';
import { checkOut, writeJson } from '../out-file.js';
import { calibrationsOf, resolveSchemes } from '../schemes/resolve-schemes.js';
import { SCHEME_FILE } from '../schemes/scheme-out.js';
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
  const out = options.out === undefined ? undefined : resolve(terminal.directory, options.out);
  if (out !== undefined) await checkOut(out, SCHEME_FILE);
  const named = await resolveSchemes(options.scheme, terminal, options.scheme === undefined);
  const given = named.map(({ scheme }) => scheme);
  const kv = await openRegistry(terminal, given, options.backend);
  const capture = await openCapture(
    options.capture === undefined
      ? defaultCapturePath()
      : resolve(terminal.directory, options.capture),
  );
  try {
    const report = await tuneScheme({
      capture,
      presets: kv.schemes.list(),
      calibrations: calibrationsOf(named),
      budgetBits,
      backend: kv.backends.get(options.backend),
      windows: {
        ...(options.sinks === undefined ? {} : { sinks: options.sinks }),
        ...(options.recent === undefined ? {} : { recent: options.recent }),
      },
      ...(positions === undefined ? {} : { positions }),
      ...(modelLayers === undefined ? {} : { modelLayers }),
      ...(id === undefined ? {} : { id }),
      onProgress: (progress) => terminal.status(progressText(progress)),
      signal: terminal.interruption(),
    });
    terminal.clearStatus();
    // Printed first: minutes of work must not end with a full disk.
    terminal.print(
      options.json === true ? JSON.stringify(report, null, 2) : formatTuneReport(report),
    );
    if (out === undefined) return;
    await writeJson(out, report.schemeFile);
    terminal.note(`${out}: use it with --scheme ${JSON.stringify(options.out)}`);
  } finally {
    await capture.close();
  }
  return;
}

function progressText({ phase, part, parts, what }: TuneProgress): string {
  const doing = phase === 'tables' ? `errors of pairs, ${what}` : `replay of ${what}`;
  return `${part + 1}/${parts}: ${doing}`;
}
