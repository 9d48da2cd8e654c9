/**
 * Checks a packed page that comes from outside against the block format (docs/block-format.md) and the law.
 */
import { LowbitKvError } from '../errors.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { canonicalizePage } from './canonical.js';
import type { Refuse } from './page-place.js';
import { checkBandSteps, checkBands } from './validate-bands.js';
import { checkLevelCodes, checkParameters, checkZeroScales } from './validate-groups.js';

/**
 * Throws BLOCK_INVALID, naming tensor, layer, head and group, unless the page is what the law could have written for
 * `validTokens` tokens: finite parameters, no subnormal or wrongly signed scale, no code other than 0 beside a scale of 0,
 * outlier lists in order and inside their room, and zeros everywhere else.
 */
export function validatePage(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  layer?: number,
): void {
  const { layout } = plan;
  const refuse: Refuse = (message, value, valid, place = {}) => {
    throw new LowbitKvError('BLOCK_INVALID', {
      message,
      value,
      valid,
      next: 'Export the block again; check that codes and parameters belong together and have the types of the plan.',
      where: { tensor: plan.tensor, ...(layer === undefined ? {} : { layer }), ...place },
    });
  };
  if (page.length !== layout.pageBytes)
    refuse('a page has the wrong size', page.length, `${layout.pageBytes} bytes`);
  if (!Number.isInteger(validTokens) || validTokens < 0 || validTokens > layout.blockTokens)
    refuse('a page has no such number of valid tokens', validTokens, `0 to ${layout.blockTokens}`);
  checkParameters(plan, page, validTokens, refuse);
  if (layout.sparse !== null) {
    checkBands(plan, page, validTokens, refuse);
    checkBandSteps(plan, page, validTokens, refuse);
  } else {
    checkZeroScales(plan, page, validTokens, refuse);
    checkLevelCodes(plan, page, validTokens, refuse);
  }
  checkUnused(plan, page, validTokens, refuse);
}

function checkUnused(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const canonical = page.slice();
  canonicalizePage(plan.layout, canonical, validTokens);
  const at = page.findIndex((byte, i) => byte !== canonical[i]);
  if (at >= 0)
    refuse(
      `byte ${at} of a page belongs to no valid token and is not zero`,
      page[at],
      `zeros past ${validTokens} tokens and in the padding`,
    );
}
