/** Figures of an evaluation as a person reads them; `-` for what is not finite. */
import { figure } from '../table.js';

export function fixed(value: number | null, digits: number): string {
  if (value === null) return '-';
  return Math.abs(value) < 1e4 ? value.toFixed(digits) : value.toExponential(2);
}

export function signed(value: number | null, digits: number): string {
  return value !== null && value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits);
}

export function percent(share: number | null): string {
  return share === null ? '-' : `${fixed(100 * share, 1)} %`;
}

/** Two digits. Divergences near 0 may be negative by rounding. */
export function tiny(value: number | null): string {
  return value !== null && value < 0 ? `-${figure(-value)}` : figure(value);
}

/** With the larger of two standard errors: the smaller one is too small where tokens or windows are few or alike. */
export function withError(
  value: string,
  errors: { readonly standardError: number | null; readonly windowStandardError: number | null },
  digits: number,
): string {
  const { standardError, windowStandardError } = errors;
  const larger = standardError === null ? null : Math.max(standardError, windowStandardError ?? 0);
  return `${value} +- ${fixed(larger, digits)}`;
}
