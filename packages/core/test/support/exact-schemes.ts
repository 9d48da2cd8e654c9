/**
 * Plans that hold pointer data to the bit: affine groups of 2, 3, 4 and 8 bits and sign-magnitude groups of 2, 3 and 4
 * bits, along tokens and along channels, under several windows.
 */
import type { Scheme } from '../../src/index.js';
import { channelKeys, scheme, tokenKeys } from './schemes.js';

export interface NamedScheme {
  readonly name: string;
  readonly scheme: Scheme;
}

const CODES = [
  { codes: 'asymmetric', bits: 2 },
  { codes: 'asymmetric', bits: 3 },
  { codes: 'asymmetric', bits: 4 },
  { codes: 'asymmetric', bits: 8 },
  { codes: 'signmag', bits: 2 },
  { codes: 'signmag', bits: 3 },
  { codes: 'signmag', bits: 4 },
] as const;

/** Every code set in both arrangements, with this window. */
export function exactSchemes(
  options: { readonly residual?: number; readonly sinks?: number; readonly size?: number } = {},
): NamedScheme[] {
  return CODES.flatMap(({ codes, bits }) =>
    [tokenKeys, channelKeys].map((arrangement) => ({
      name: `${arrangement.name} ${codes} ${bits} bit, residual ${options.residual ?? 0}, sinks ${options.sinks ?? 0}`,
      scheme: arrangement({ ...options, codes, bits }),
    })),
  );
}

/** A few of them, and f16, for long programs. */
export function someExactSchemes(residuals: readonly number[]): NamedScheme[] {
  const quantized = residuals.flatMap((residual, i) => [
    {
      name: `token keys 2 bit, residual ${residual}`,
      scheme: tokenKeys({ bits: 2, residual, sinks: i % 2 === 0 ? 0 : 4 }),
    },
    {
      name: `channel keys 3 bit sign-magnitude, residual ${residual}`,
      scheme: channelKeys({ bits: 3, codes: 'signmag', residual, sinks: i % 2 === 0 ? 4 : 0 }),
    },
  ]);
  return [
    ...quantized,
    { name: 'both along tokens, 4 bit', scheme: bothAlongTokens() },
    { name: 'f16', scheme: scheme({ id: 'f16', key: { bits: 16 }, value: { bits: 16 } }) },
  ];
}

export function bothAlongTokens(bits: 2 | 3 | 4 | 8 = 4, size = 32): Scheme {
  return scheme({
    id: 'both-along-tokens',
    key: { bits, along: 'tokens', size },
    value: { bits, along: 'tokens', size, flush: 2 * size },
  });
}
