/**
 * @lowbit-kv/scheme-oaken: Oaken as data over the scheme contract, and its offline calibration.
 */
export { calibrateThresholds } from './calibrate.js';
export { type OakenOptions, oaken } from './oaken.js';
export { oakenMm, oakenSm, oakenSmToken, presets } from './presets.js';
