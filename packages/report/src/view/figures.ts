/** Figures as a person reads them. */

/** Two digits; `-` for what is not finite or not there. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return '-';
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size >= 0.001 && size < 1000 ? value.toPrecision(2) : value.toExponential(1);
}

export function fixed(value: number | null | undefined, digits: number): string {
  return value === null || value === undefined ? '-' : value.toFixed(digits);
}

export function cell(value: number | null | undefined, text: string = short(value)) {
  return { text, value: value ?? null };
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Powers of 1024. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? value.toFixed(0) : value.toPrecision(3)} ${UNITS[unit]}`;
}

/** Powers of 1024, without decimals: for axes. */
export function wholeBytesText(bytes: number): string {
  const [value, unit] = bytesText(bytes).split(' ');
  return `${+(value as string)} ${unit}`;
}

/** Context lengths: 8K, 128K, 1.5M. */
export function tokensText(tokens: number): string {
  if (tokens < 1024) return String(Math.floor(tokens));
  const thousands = tokens / 1024;
  if (thousands < 1000) return `${thousands < 10 ? +thousands.toFixed(1) : Math.floor(thousands)}K`;
  const millions = thousands / 1024;
  return `${millions < 100 ? +millions.toFixed(1) : Math.floor(millions)}M`;
}
