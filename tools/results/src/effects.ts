// Pairs of presets that differ in one thing: what it buys on the capture.

export interface Effect {
  readonly what: string;
  readonly from: string;
  readonly to: string;
}

export const EFFECTS: readonly Effect[] = [
  {
    what: '32 sinks and 96 recent tokens in f16',
    from: 'turboquant-2bit',
    to: 'turboquant-2bit-s32-r96',
  },
  {
    what: 'keys grouped along tokens, not channels',
    from: 'bitdecoding-kt-4bit-g32',
    to: 'bitdecoding-kc-4bit-g32',
  },
  { what: 'the same at 2 bits', from: 'bitdecoding-kt-2bit-g32', to: 'bitdecoding-kc-2bit-g32' },
  { what: 'Hadamard rotation', from: 'q4-0', to: 'rotated-4bit-symmetric-g32' },
  {
    what: 'Lloyd-Max levels and one scale a vector, not uniform groups of 32',
    from: 'rotated-2bit-g32',
    to: 'turboquant-2bit',
  },
  {
    what: 'centred keys and windows',
    from: 'rotated-3bit-g32',
    to: 'rotated-3bit-g32-centered-keys-s32-r96',
  },
  { what: 'all levels used (fullSigned)', from: 'innerq-base', to: 'innerq-base-full-signed' },
  { what: '8-bit keys beside 4-bit values', from: 'q4-0', to: 'q8-0-keys-q4-0-values' },
  { what: 'groups of 64, not 32', from: 'bitdecoding-kc-4bit-g32', to: 'bitdecoding-kc-4bit-g64' },
];
