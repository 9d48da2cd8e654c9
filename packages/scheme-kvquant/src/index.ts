/**
 * @lowbit-kv/scheme-kvquant: KVQuant as data over the scheme contract, and its offline calibration.
 */
export { type CalibrateOptions, calibrateKvquant } from './calibrate.js';
export { type KvquantOptions, kvquant } from './kvquant.js';
export { kvquant2, kvquant3, kvquant4, presets } from './presets.js';
