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
    what: 'keys grouped along tokens, not channels, 4 bits',
    from: 'bitdecoding-kt-4bit-g32',
    to: 'bitdecoding-kc-4bit-g32',
  },
  {
    what: 'the same, 2 bits, groups of 64',
    from: 'bitdecoding-kt-2bit-g64',
    to: 'bitdecoding-kc-2bit-g64',
  },
  { what: 'groups of 64, not 32', from: 'bitdecoding-kc-4bit-g32', to: 'bitdecoding-kc-4bit-g64' },
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
  {
    what: 'keys centred and normalised before the rotation',
    from: 'turboquant-2bit-s32-r96',
    to: 'lowbit-2-3',
  },
  { what: 'all levels used (fullSigned)', from: 'innerq-small', to: 'innerq-small-full-signed' },
  {
    what: 'keys centred, values rotated with mid-rise levels',
    from: 'innerq-small-full-signed',
    to: 'lowbit-2-9',
  },
  { what: 'keys of 4 bits, not 3', from: 'lowbit-2-9', to: 'lowbit-3-4' },
  { what: 'values of 4 bits, not 2', from: 'lowbit-3-4', to: 'lowbit-4-4' },
  { what: 'keys of 8 bits, not 4', from: 'q4-0', to: 'q8-0-keys-q4-0-values' },
  { what: 'FP4 levels, E4M3 scales of 16, a tensor scale', from: 'q4-0', to: 'nvfp4' },
  { what: 'FP4 levels, scales that are powers of two', from: 'q4-0', to: 'mxfp4' },
];
