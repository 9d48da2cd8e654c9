/**
 * `lowbit-kv estimate`: what every scheme takes for a model, and how much of it fits into memory.
 */
import { resolve } from 'node:path';
import type { Geometry } from '@lowbit-kv/core';
import { captureGeometry, defaultCapturePath, F16, openCapture } from '@lowbit-kv/harness';
import { readConfigGeometry } from '../estimate/config-geometry.js';
import { type EstimateReport, estimateScheme } from '../estimate/estimate-report.js';
import { formatEstimate } from '../estimate/estimate-table.js';
import { readGeometry } from '../geometry-option.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';

export interface EstimateOptions {
  readonly scheme?: readonly string[];
  readonly all?: boolean;
  readonly config?: string;
  readonly geometry?: string;
  readonly tokens?: readonly number[];
  readonly sequences: number;
  /** Bytes. */
  readonly memory?: number;
  readonly json?: boolean;
  readonly markdown?: boolean;
}

const DEFAULT_TOKENS = [8192, 32768, 131072];

export async function estimate(terminal: Terminal, options: EstimateOptions): Promise<number> {
  const named = await resolveSchemes(options.scheme, terminal, options.all);
  const { source, geometry, maxPositions } = await geometryOf(terminal, options);
  const tokens = [...new Set(options.tokens ?? DEFAULT_TOKENS)].sort((a, b) => a - b);
  const { sequences } = options;
  const memory = options.memory ?? null;
  const question = { geometry, tokens, sequences, memory };
  const chosen = named.map(({ scheme }) => scheme).filter(({ id }) => id !== F16.id);
  const report: EstimateReport = {
    reportVersion: 1,
    ...{ source, geometry, maxPositions, sequences, memory },
    schemes: [F16, ...chosen].map((scheme) => estimateScheme(scheme, question)),
  };
  if (options.json === true) terminal.print(JSON.stringify(report, null, 2));
  else {
    const style = options.markdown === true ? 'markdown' : 'text';
    for (const line of formatEstimate(report, style)) terminal.print(line);
  }
  const past = tokens.filter((length) => maxPositions !== null && length > maxPositions);
  if (past.length > 0)
    terminal.note(
      `${past.join(', ')} tokens: more than the ${maxPositions} the model is made for.`,
    );
  const planned = report.schemes.some(({ id, status }) => id !== F16.id && status === 'estimated');
  return planned || chosen.length === 0 ? 0 : 1;
}

interface Source {
  readonly source: string;
  readonly geometry: Geometry;
  readonly maxPositions: number | null;
}

async function geometryOf(terminal: Terminal, options: EstimateOptions): Promise<Source> {
  const { config, geometry } = options;
  if (config !== undefined)
    return { source: config, ...(await readConfigGeometry(resolve(terminal.directory, config))) };
  if (geometry !== undefined) {
    const given = await readGeometry(geometry, terminal.directory);
    return { source: '--geometry', geometry: given, maxPositions: null };
  }
  const capture = await openCapture(defaultCapturePath());
  try {
    const source = 'the captured layers of the capture that comes along';
    return { source, geometry: captureGeometry(capture), maxPositions: null };
  } finally {
    await capture.close();
  }
}
