/**
 * What a JSON file of ours is: a scheme, calibrations, a plan or a report.
 */
import { LowbitKvError, parseCalibration, schemeFingerprint } from '@lowbit-kv/core';
import { parseSchemeFile } from '@lowbit-kv/harness';
import type { InspectedFile } from './open-file.js';

/** Reports of whole models are far below. */
const LARGEST = 64e6;

/** Facts by name, as they are printed. `kind` comes first. */
export type Facts = Readonly<Record<string, unknown>> & { readonly kind: string };

/** Throws OPTION_INVALID for JSON that is none of ours, and what parsing a scheme or calibration throws. */
export async function inspectJson(file: InspectedFile): Promise<Facts> {
  if (file.size > LARGEST)
    throw unknownFile(file, `${file.size} bytes of JSON`, `JSON of at most ${LARGEST} bytes`);
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(await file.read(0, file.size)).toString('utf8'));
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    const [, offset] = /position (\d+)/.exec(message) ?? [];
    throw unknownFile(file, message, 'whole JSON', Number(offset ?? 0));
  }
  const entries = Array.isArray(content) ? content : [content];
  if (
    entries.length > 0 &&
    entries.every((entry) => has(entry, 'scheme', 'provenance', 'layers'))
  ) {
    const calibrations = entries.map(parseCalibration).map(({ scheme, layers, provenance }) => ({
      schemeFingerprint: scheme,
      layers: layers.length,
      provenance,
    }));
    return { kind: 'calibration', calibrations };
  }
  if (has(content, 'planVersion', 'scheme', 'fingerprint')) {
    const { scheme, fingerprint, layers } = content as Record<string, unknown>;
    return { kind: 'plan', scheme: idOf(scheme), fingerprint, units: lengthOf(layers) };
  }
  if (has(content, 'reportVersion')) return reportFacts(content as Record<string, unknown>);
  if (has(content, 'schemeFile') || has(content, 'specVersion', 'key', 'value')) {
    const { scheme, calibration, provenance } = parseSchemeFile(content);
    return {
      kind: 'scheme',
      scheme: scheme.id,
      title: scheme.title,
      fingerprint: schemeFingerprint(scheme),
      calibration: calibration === undefined ? scheme.calibration.kind : 'included',
      provenance,
    };
  }
  throw unknownFile(
    file,
    has(content) ? Object.keys(content as object).slice(0, 8) : typeof content,
    'a scheme, a calibration, a plan or a report of lowbit-kv',
  );
}

function reportFacts({ reportVersion, schemes, ...rest }: Record<string, unknown>): Facts {
  const capture = has(rest.capture, 'file', 'sha256') ? (rest.capture as Facts) : null;
  const rows = Array.isArray(schemes) ? schemes : [];
  return {
    kind: 'report',
    reportVersion,
    ...(capture === null ? {} : { capture: capture.file, captureSha256: capture.sha256 }),
    fields: Object.keys(rest),
    schemes: rows
      .filter((row) => has(row, 'id'))
      .map(({ id, fingerprint }) => ({ id, fingerprint })),
  };
}

export function unknownFile(
  file: InspectedFile,
  value: unknown,
  valid: string,
  offset = 0,
): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'this is no file that can be explained, or it is damaged',
    value,
    valid,
    next: 'Give a snapshot, a capture, or JSON that lowbit-kv wrote; pages of exportBlocks need --tensor, --scheme and --geometry.',
    where: { file: file.path, offset },
  });
}

function has(value: unknown, ...fields: string[]): boolean {
  return typeof value === 'object' && value !== null && fields.every((field) => field in value);
}

function idOf(scheme: unknown): unknown {
  return has(scheme, 'id') ? (scheme as { id: unknown }).id : null;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
