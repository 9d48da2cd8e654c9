/**
 * Sizes of memory as people write them: `24GB` is 24 * 10^9 bytes, `24GiB` is 24 * 2^30.
 */
import { InvalidArgumentError } from 'commander';

const PREFIXES = ['', 'K', 'M', 'G', 'T'];
/** What the figures of any scheme can be counted exactly for. */
const LARGEST = 1e14;

/** Bytes, for an option. Throws what commander reports as a usage error. */
export function memorySize(text: string): number {
  const [, number, prefix = '', binary] = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B$/i.exec(text) ?? [];
  const power = PREFIXES.indexOf(prefix.toUpperCase());
  const bytes = Math.floor(Number(number) * (binary ? 1024 : 1000) ** power);
  if (bytes >= 1 && bytes <= LARGEST && !(binary && prefix === '')) return bytes;
  throw new InvalidArgumentError('It must be a size up to 100TB such as 24GB, 24GiB or 512MB.');
}

/** With three digits or more and a decimal unit. */
export function sizeText(bytes: number): string {
  let power = 0;
  let value = bytes;
  while (value >= 1000 && power < PREFIXES.length - 1) {
    value /= 1000;
    power += 1;
  }
  const digits = power === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${PREFIXES[power] === 'K' ? 'k' : PREFIXES[power]}B`;
}
