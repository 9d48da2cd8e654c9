/**
 * Checks the top outliers of a packed page: finite values, channels that rise, and no code in their place.
 */
import { unpackCodes } from '../law/bits.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readNumber, readU16 } from '../law/page-bytes.js';
import type { TopPlane } from './layout.js';
import type { Refuse } from './page-place.js';

export function checkTop(
  { layout }: PackedTensorPlan,
  { count, values, channels }: TopPlane,
  page: Uint8Array,
  validTokens: number,
  refuse: Refuse,
): void {
  const { heads, headBytes, headDim, bits, codes: plane } = layout;
  const code = new Uint8Array(1);
  for (let head = 0; head < heads; head++) {
    const base = head * headBytes;
    for (let slot = 0; slot < validTokens; slot++) {
      let least = 0;
      for (let entry = slot * count; entry < (slot + 1) * count; entry++) {
        const place = base + channels.offset + channels.entryBytes * entry;
        const channel = readNumber(page, place, channels.entryBytes);
        if (channel < least || channel >= headDim)
          refuse(
            'channels of outliers must rise inside a token',
            channel,
            `${least} to ${headDim - 1}`,
            { head, slot },
          );
        least = channel + 1;
        const half = readU16(page, base + values.offset + 2 * entry);
        if ((half & 0x7c00) === 0x7c00)
          refuse('an outlier is not finite', `bits 0x${half.toString(16)}`, 'finite f16', {
            head,
            slot,
            channel,
          });
        const [row, skip] = plane.rows === 'channels' ? [channel, slot] : [slot, channel];
        unpackCodes(page, base + plane.offset + row * plane.rowBytes, skip, 1, bits, code, 0);
        if (code[0] !== 0)
          refuse('an outlier has a code as well', code[0], 'code 0', { head, slot, channel });
      }
    }
  }
}
