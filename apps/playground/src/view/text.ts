/** Numbers and foreign names as text. */

/** Two significant digits, without an exponent where that is short. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return 'not finite';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4)
    return value.toExponential(1).replace('e+', 'e').replace('-', '−');
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  return value.toFixed(digits).replace('-', '−');
}

/** Four significant digits: what a stored parameter is. */
export function precise(value: number): string {
  return String(Number(value.toPrecision(4))).replaceAll('-', '−');
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export function bytesText(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const size = bytes / 1024 ** power;
  return `${power === 0 || size >= 100 ? Math.round(size) : size.toFixed(size >= 10 ? 1 : 2)} ${UNITS[power]}`;
}

export function millisecondsText(milliseconds: number): string {
  if (milliseconds >= 100) return `${Math.round(milliseconds)} ms`;
  return `${milliseconds.toFixed(milliseconds >= 10 ? 1 : 2)} ms`;
}

export function percentText(share: number): string {
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  return `${(100 * share).toFixed(share >= 0.0995 ? 0 : 1)} %`;
}

export function count(number: number, thing: string): string {
  return `${number.toLocaleString('en')} ${thing}${number === 1 ? '' : 's'}`;
}

/** What stands where the result of a scheme will be. */
export function waitingText({
  fault,
  pending,
}: {
  fault: string | null;
  pending: boolean;
}): string {
  if (fault !== null) return 'Refused, see above.';
  return pending ? 'Packing.' : 'Nothing to pack yet.';
}

/** Control and direction characters of foreign names as escapes: what the page shows is what the file says. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}
