/** Captures: safetensors with names, shapes and metadata that must fit together. */
import { openCapture } from '@lowbit-kv/harness';
import { readCaptureData } from '../../../../packages/harness/src/capture-data.js';
import {
  captureBytes,
  f16Tensor,
} from '../../../../packages/harness/test/support/capture-bytes.js';
import { mutateSafetensors, partsOf } from '../mutate/safetensors.js';
import { mustHold, type Target } from '../target.js';

const SEEDS = [
  captureBytes(),
  captureBytes(({ tensors, metadata }) => {
    for (const layer of [3, 11])
      tensors[`layers.${layer}.key_pre_rope`] = f16Tensor([1, 2, 5, 8], layer + 3);
    Object.assign(metadata, {
      ...{ layers: '[3, 11]', positions: '0..4', tokens: '5', query_heads: '4', kv_heads: '2' },
      ...{ model_layers: '12', rope_theta: '10000', rope_style: 'half-split' },
    });
  }),
];

export const capture: Target = {
  name: 'capture',
  codes: ['SAFETENSORS_INVALID', 'CAPTURE_INVALID', 'NON_FINITE'],
  async open() {
    return {
      mutant: (random) => mutateSafetensors(random, random.pick(SEEDS)),
      async check(mutant) {
        const opened = await openCapture(mutant);
        const { layers, kvHeads, tokens, keyHeadDim } = opened;
        const { header, data } = partsOf(mutant);
        const entries = JSON.parse(new TextDecoder().decode(header));
        for (const number of layers) {
          const { key } = await opened.readLayer(number);
          mustHold(key.length === kvHeads * tokens * keyHeadDim, 'elements of keys');
          const { dtype, data_offsets: offsets } = entries[`layers.${number}.key`];
          if (dtype !== 'F16') continue;
          const expected = data.subarray(offsets[0], offsets[1]);
          const bytes = new Uint8Array(key.buffer, key.byteOffset, key.byteLength);
          mustHold(Buffer.compare(bytes, expected) === 0, 'bits of keys');
        }
        const { sizes, layers: read } = await readCaptureData(opened, 2);
        mustHold(read.length === layers.length && sizes.queries <= 2, 'layers and queries');
        await opened.close();
      },
    };
  },
};
