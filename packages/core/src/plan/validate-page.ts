/**
 * Checks a packed page that comes from outside against the block format (docs/block-format.md) and the law.
 */
import { LowbitKvError } from '../errors.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import type { ParameterType } from '../scheme.js';
import { canonicalizePage } from './canonical.js';
import type { Refuse } from './page-place.js';
import { checkBandSteps, checkBands } from './validate-bands.js';
import { checkLevelCodes, checkParameters, checkZeroScales } from './validate-groups.js';
import { checkTop } from './validate-top.js';

/**
 * Throws BLOCK_INVALID, naming tensor, layer, head and group, unless the page is what the law could have written for
 * `validTokens` tokens: finite parameters, no subnormal or wrongly signed scale, no code other than 0 beside a scale of 0,
 * outlier lists in order, inside their room and beside codes of 0, finite values, and zeros everywhere else.
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
      where: {
        tensor: plan.tensor,
        ...(layer === undefined ? {} : { layer }),
        ...place,
        ...(place.head === undefined ? {} : { head: plan.headNumbers?.[place.head] ?? place.head }),
      },
    });
  };
  if (page.length !== layout.pageBytes)
    refuse('a page has the wrong size', page.length, `${layout.pageBytes} bytes`);
  if (!Number.isInteger(validTokens) || validTokens < 0 || validTokens > layout.blockTokens)
    refuse('a page has no such number of valid tokens', validTokens, `0 to ${layout.blockTokens}`);
  if (plan.scheme.quantizer.mode === 'codec') {
    checkDecoded(plan, page, validTokens, refuse);
    checkUnused(plan, page, validTokens, refuse);
    return;
  }
  checkParameters(plan, page, validTokens, refuse);
  if (layout.sparse !== null) {
    checkBands(plan, page, validTokens, refuse);
    checkBandSteps(plan, page, validTokens, refuse);
  } else {
    checkZeroScales(plan, page, validTokens, refuse);
    checkLevelCodes(plan, page, validTokens, refuse);
    if (layout.top !== undefined) checkTop(plan, layout.top, page, validTokens, refuse);
  }
  if (layout.parameters.some(({ type }) => FAR_REACHING.includes(type)))
    checkDecoded(plan, page, validTokens, refuse);
  checkUnused(plan, page, validTokens, refuse);
}

/** Types that reach so far that a scale of them times a code leaves f32. */
const FAR_REACHING: readonly ParameterType[] = ['f32', 'e8m0'];

/** All that is known of the bytes of a codec: they decode, and to numbers. */
function checkDecoded(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { heads, headDim } = plan.layout;
  const values = new Float32Array(validTokens * headDim);
  for (let head = 0; head < heads; head++) {
    try {
      decodeTokens(plan, page, head, 0, validTokens, values);
    } catch (error) {
      if (!LowbitKvError.is(error, 'CODEC_INVALID')) throw error;
      refuse('the codec cannot decode a group', error.value, 'bytes that it wrote', { head });
    }
    const at = values.findIndex((value) => !Number.isFinite(value));
    if (at < 0) continue;
    refuse('a group decodes to a value that is not finite', values[at], 'finite numbers', {
      head,
      slot: Math.floor(at / headDim),
      channel: at % headDim,
    });
  }
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
