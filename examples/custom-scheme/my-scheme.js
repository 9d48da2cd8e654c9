// A key-value cache scheme of your own. This object is all there is to write: it plans, packs, attends
// and compares like the schemes that come with lowbit-kv.
//
//   npx lowbit-kv compare --scheme ./my-scheme.js

/** @type {import('@lowbit-kv/core').Scheme} */
const myScheme = {
  specVersion: 1,
  id: 'my-3bit-keys-4bit-values',
  title: 'Mine: symmetric 3-bit keys, 4-bit values, g 32',

  // The first tokens draw much attention whatever they say: these stay f16 for ever.
  sinks: 4,

  // The attention of a step still sees the tokens that leave the window in that step as f16.
  packing: 'after-attention',

  key: {
    bits: 3,
    // One scale for 32 neighbouring channels of one token. Every head dim must be a multiple of 32.
    groups: { along: 'channels', size: 32 },
    // Symmetric: no zero to store. `fullSigned` uses all eight codes: the largest magnitude, whatever
    // its sign, gets the code -4.
    quantizer: { mode: 'symmetric', codes: 'fullSigned' },
    parameters: { scale: 'f16' },
    // At least the 32 newest tokens are f16; keys are packed 32 at a time.
    window: { recent: 32, flush: 32 },
  },

  value: {
    bits: 4,
    groups: { along: 'channels', size: 32 },
    // Asymmetric: 16 even steps from the smallest to the largest value of the group.
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window: { recent: 32, flush: 32 },
  },

  // Nothing is measured beforehand, neither per model nor per sequence.
  calibration: { kind: 'none' },
};

export default myScheme;
