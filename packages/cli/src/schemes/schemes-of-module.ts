/**
 * Which schemes a module exports.
 */
import { LowbitKvError, type Scheme } from '@lowbit-kv/core';

/**
 * `presets` when there is such an array, else the default export (a scheme or an array), else every exported object
 * that looks like a scheme. Throws SCHEME_INVALID when there is none; the registry validates what is found.
 */
export function schemesOfModule(
  exported: Readonly<Record<string, unknown>>,
  source: string,
): readonly Scheme[] {
  const candidates = [exported.presets, exported.default].flatMap((value) => {
    if (Array.isArray(value)) return [value];
    return looksLikeScheme(value) ? [[value]] : [];
  });
  const schemes = candidates[0] ?? Object.values(exported).filter(looksLikeScheme);
  if (schemes.length > 0) return schemes as Scheme[];
  throw new LowbitKvError('SCHEME_INVALID', {
    message: 'the module exports no scheme',
    value: Object.keys(exported).sort(),
    valid: 'a default export that is a scheme, or an array named presets',
    next: 'Write `export default { specVersion: 1, id: ..., ... }`; the Scheme type of @lowbit-kv/core has the fields.',
    where: { module: source },
  });
}

function looksLikeScheme(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'specVersion' in value && 'key' in value;
}
