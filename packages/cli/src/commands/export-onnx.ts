/**
 * `lowbit-kv export-onnx`: writes the graphs of a scheme for one geometry. Needs no ONNX Runtime.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type ExportedGraphs, exportOnnx } from '@lowbit-kv/backend-onnx';
import {
  type Calibration,
  canonicalJson,
  createCalibration,
  createPlan,
  type Geometry,
  LowbitKvError,
  type Plan,
} from '@lowbit-kv/core';
import {
  captureGeometry,
  captureSamples,
  defaultCapturePath,
  openCapture,
  writeTogether,
} from '@lowbit-kv/harness';
import { readCalibrations } from '../calibration-file.js';
import { readGeometry } from '../geometry-option.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';

export interface ExportOnnxOptions {
  readonly scheme: string;
  readonly out: string;
  readonly capture?: string;
  readonly geometry?: string;
  readonly calibration?: string;
}

const FILE_NAMES: Readonly<Record<keyof ExportedGraphs, string>> = {
  encodeKey: 'encode-key',
  encodeValue: 'encode-value',
  keyStatistics: 'key-statistics',
  valueStatistics: 'value-statistics',
  attention: 'attention',
};

/** Prints the path of every file written. */
export async function exportOnnxGraphs(
  terminal: Terminal,
  options: ExportOnnxOptions,
): Promise<undefined> {
  const named = await oneScheme(options.scheme, terminal);
  const { scheme } = named;
  const { geometry, calibration } = await planInputs(named, options, terminal);
  const plan = createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
  const files = collectFiles(plan);
  const directory = resolve(terminal.directory, options.out);
  await makeDirectory(directory);
  const placed = [...files].map(([name, content]) => [join(directory, name), content] as const);
  await writeTogether(placed);
  for (const [path] of placed) terminal.print(path);
  return;
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (cause) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: '--out cannot be made',
      value: directory,
      valid: 'a folder, or a path where one can be made',
      next: `Choose another folder (${cause instanceof Error ? cause.message : String(cause)}).`,
      cause,
    });
  }
}

async function oneScheme(name: string, terminal: Terminal): Promise<NamedScheme> {
  const [found, ...others] = await resolveSchemes([name], terminal);
  if (found !== undefined && others.length === 0) return found;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'graphs are exported for one scheme at a time',
    value: name,
    valid: [found, ...others].map((named) => named?.scheme.id),
    next: 'Name one of them with --scheme.',
    where: { field: 'scheme' },
  });
}

interface PlanInputs {
  readonly geometry: Geometry;
  readonly calibration: Calibration | undefined;
}

async function planInputs(
  { scheme, calibration: brought }: NamedScheme,
  options: ExportOnnxOptions,
  terminal: Terminal,
): Promise<PlanInputs> {
  const given =
    options.calibration === undefined
      ? brought
      : (await readCalibrations(resolve(terminal.directory, options.calibration), [scheme]))[
          scheme.id
        ];
  if (options.geometry !== undefined) {
    const geometry = await readGeometry(options.geometry, terminal.directory);
    return { geometry, calibration: given };
  }
  const path =
    options.capture === undefined
      ? defaultCapturePath()
      : resolve(terminal.directory, options.capture);
  const capture = await openCapture(path);
  try {
    const geometry = captureGeometry(capture);
    if (given !== undefined || scheme.calibration.kind !== 'offline' || !scheme.calibrate)
      return { geometry, calibration: given };
    terminal.note(`${scheme.id} is calibrated on the ${capture.tokens} tokens of ${path}`);
    const provenance = { ...capture.provenance, capture: path };
    return {
      geometry,
      calibration: await createCalibration(scheme, captureSamples(capture, scheme), provenance),
    };
  } finally {
    await capture.close();
  }
}

/**
 * Graphs, once for entries of the plan that are equal, the plan, the calibration, and a list that says which layer (and
 * which of its kv heads) uses which file.
 */
function collectFiles(plan: Plan): Map<string, Uint8Array | string> {
  const files = new Map<string, Uint8Array | string>();
  const known = new Map<string, Record<string, string>>();
  const layers = plan.layers.map(({ layer, heads, ...rest }, index) => {
    const whole = rest.key.headNumbers === undefined;
    const place = whole ? `layer-${layer}` : `layer-${layer}-heads-${heads.join('-')}`;
    const identity = canonicalJson(rest);
    let names = known.get(identity);
    if (names === undefined) {
      names = {};
      for (const [part, model] of Object.entries(exportOnnx(plan, { layer: index }))) {
        if (model === null) continue;
        const file = `${place}-${FILE_NAMES[part as keyof ExportedGraphs]}.onnx`;
        names[part] = file;
        files.set(file, model);
      }
      known.set(identity, names);
    }
    return { layer, heads, ...names };
  });
  const { fingerprint, scheme, calibration } = plan;
  const list = { reportVersion: 1, scheme: scheme.id, plan: fingerprint, layers };
  files.set('graphs.json', json(list));
  files.set('plan.json', json(plan));
  if (calibration !== null) files.set('calibration.json', json(calibration));
  return files;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
