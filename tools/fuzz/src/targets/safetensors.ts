/** safetensors files in memory. */
import {
  F16_READABLE,
  F32_READABLE,
  openSafetensors,
  type SafetensorsFile,
} from '@lowbit-kv/harness';
import { safetensorsBytes } from '../../../../packages/harness/test/support/safetensors-bytes.js';
import { mutateSafetensors, partsOf } from '../mutate/safetensors.js';
import { mustHold, type Target } from '../target.js';

const SEEDS = [
  safetensorsBytes(
    {
      'layers.0.key': { dtype: 'F16', shape: [1, 2, 3, 4], data: new Uint16Array(24).fill(0x3c00) },
      half: { dtype: 'BF16', shape: [6], data: new Uint16Array(6).fill(0x3f80) },
      'a"\\é😀': { dtype: 'F32', shape: [], data: Float32Array.of(-2) },
      empty: { dtype: 'I64', shape: [0, 7], data: new Uint8Array() },
    },
    { format: 'pt', note: 'made up' },
  ),
  safetensorsBytes({
    wide: { dtype: 'F64', shape: [2, 2], data: Float64Array.of(1, 2, 3, 4) },
    flags: { dtype: 'BOOL', shape: [3], data: Uint8Array.of(0, 1, 1) },
    small: { dtype: 'F8_E4M3', shape: [5], data: Uint8Array.of(1, 2, 3, 4, 5) },
  }),
  safetensorsBytes({}),
];

export const safetensors: Target = {
  name: 'safetensors',
  codes: ['SAFETENSORS_INVALID'],
  async open() {
    return {
      mutant: (random) => mutateSafetensors(random, random.pick(SEEDS)),
      async check(mutant) {
        const file = await openSafetensors(mutant);
        await mustBeFaithful(file, mutant);
        await file.close();
      },
    };
  },
};

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** What JSON.parse and the offsets say. */
async function mustBeFaithful(file: SafetensorsFile, bytes: Uint8Array): Promise<void> {
  const { header, data } = partsOf(bytes);
  const said = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  const { __metadata__: metadata = {}, ...entries } = said as Record<string, object>;
  const names = Object.keys(entries).sort();
  mustHold(String([...file.tensors.keys()].sort()) === String(names), 'names of tensors');
  mustHold(
    JSON.stringify([...file.metadata].sort()) === JSON.stringify(Object.entries(metadata).sort()),
    'metadata',
  );
  for (const [name, entry] of Object.entries(entries) as [string, Entry][]) {
    const { dtype, shape } = file.tensors.get(name) ?? {};
    mustHold(dtype === entry.dtype && String(shape) === String(entry.shape), `${name}: type`);
    const expected = data.subarray(...entry.data_offsets);
    mustHold(Buffer.compare(await file.read(name), expected) === 0, `${name}: bytes`);
    const elements = entry.shape.reduce((product, size) => product * size, 1);
    if ((F32_READABLE as readonly unknown[]).includes(dtype))
      mustHold((await file.readF32(name)).length === elements, `${name}: elements in f32`);
    if ((F16_READABLE as readonly unknown[]).includes(dtype))
      mustHold((await file.readF16(name)).length === elements, `${name}: elements in f16`);
  }
}
