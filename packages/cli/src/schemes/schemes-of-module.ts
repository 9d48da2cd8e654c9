/**
 * Which schemes and simulations a module exports.
 */
import { LowbitKvError, type Scheme, type SchemeSimulation } from '@lowbit-kv/core';

export interface ModuleSchemes {
  readonly schemes: readonly Scheme[];
  readonly simulations: readonly SchemeSimulation[];
}

/**
 * Schemes: the array `presets` or `compatPresets` when there is one, else the default export (a scheme or an array), else
 * every exported object that looks like a scheme. Simulations: the array `simulations`. Throws SCHEME_INVALID when there is
 * neither; the registry validates what is found.
 */
export function schemesOfModule(
  exported: Readonly<Record<string, unknown>>,
  source: string,
): ModuleSchemes {
  const { presets, compatPresets, default: main } = exported;
  const candidates = [presets, compatPresets, main].flatMap((value) => {
    if (Array.isArray(value)) return [value];
    return looksLikeScheme(value) ? [[value]] : [];
  });
  const schemes = candidates[0] ?? Object.values(exported).filter(looksLikeScheme);
  const simulations = Array.isArray(exported.simulations) ? exported.simulations : [];
  if (schemes.length + simulations.length > 0) return { schemes, simulations };
  throw new LowbitKvError('SCHEME_INVALID', {
    message: 'the module exports no scheme',
    value: Object.keys(exported).sort(),
    valid: 'a default export that is a scheme, or an array named presets or simulations',
    next: 'Write `export default { specVersion: 1, id: ..., ... }`; the Scheme type of @lowbit-kv/core has the fields.',
    where: { module: source },
  });
}

function looksLikeScheme(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'specVersion' in value && 'key' in value;
}
