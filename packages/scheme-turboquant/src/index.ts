/**
 * @lowbit-kv/scheme-turboquant: TurboQuant_mse as data over the scheme contract.
 */
export { lloydMaxLevels } from './lloyd-max.js';
export {
  presets,
  turboquant2,
  turboquant2Windows,
  turboquant3,
  turboquant4,
} from './presets.js';
export { type TurboquantOptions, turboquant } from './turboquant.js';
