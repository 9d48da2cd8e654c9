/**
 * Checks of codecs, and of whether one fits the tensor that names it.
 */
import * as z from 'zod';
import type { GroupCodec } from './codec.js';
import { LowbitKvError } from './errors.js';
import type { QuantizedTensorScheme } from './scheme.js';
import { parseOrThrow } from './validate.js';

const positive = z.int().min(1);
const isFunction = (value: unknown) => typeof value === 'function';

const codecSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'lower-case words joined by hyphens'),
  version: positive,
  groupSize: positive,
  groupBytes: positive,
  encodeGroup: z.custom(isFunction, '(values: Float32Array, bytes: Uint8Array) => void'),
  decodeGroup: z.custom(isFunction, '(bytes: Uint8Array, values: Float32Array) => void'),
  wgsl: z.string().min(1).optional(),
  cuda: z.string().min(1).optional(),
});

/**
 * Copies of the codecs of all lists, validated. Throws CODEC_INVALID, also when two have the same id and version.
 */
export function checkedCodecs(...lists: readonly unknown[]): readonly GroupCodec[] {
  const codecs = lists.flatMap((list) => (list === undefined ? [] : parseCodecs(list)));
  const seen = new Set<string>();
  for (const codec of codecs) {
    const name = nameOf(codec);
    if (seen.has(name)) {
      throw new LowbitKvError('CODEC_INVALID', {
        message: 'two codecs have the same id and version',
        value: name,
        valid: 'each id and version once, in the scheme and the options together',
        next: 'Leave one out, or raise its version.',
      });
    }
    seen.add(name);
  }
  return codecs;
}

function parseCodecs(list: unknown): readonly GroupCodec[] {
  const next =
    'Correct the codec. Functions do not survive JSON: pass the codecs of the scheme package in `codecs`.';
  const parsed = parseOrThrow(z.array(codecSchema), list, 'CODEC_INVALID', 'codecs', next);
  return parsed as unknown as readonly GroupCodec[];
}

function nameOf({ id, version }: Pick<GroupCodec, 'id' | 'version'>): string {
  return `${id}, version ${version}`;
}

/**
 * The codec that a tensor names, for groups of `groupSize` elements. Throws CODEC_MISSING when it was not given, and
 * CODEC_INVALID when its sizes are not those of the scheme.
 */
export function codecOf(
  { quantizer, groups }: QuantizedTensorScheme,
  groupSize: number,
  codecs: readonly GroupCodec[],
  where: { readonly tensor: string; readonly layer: number },
): GroupCodec | undefined {
  if (quantizer.mode !== 'codec') return undefined;
  const { codes, version, groupBytes } = quantizer;
  const name = nameOf({ id: codes, version });
  const found = codecs.find((codec) => nameOf(codec) === name);
  if (found === undefined) {
    throw new LowbitKvError('CODEC_MISSING', {
      message: 'the scheme names a codec that was not given',
      value: name,
      valid: codecs.map(nameOf),
      next: 'Plan the scheme object of its package, or pass `codecs: scheme.codecs` to createPlan.',
      where,
    });
  }
  if (found.groupSize !== groupSize) {
    // The width of a vector is a matter of the model, not of the scheme.
    throw new LowbitKvError(groups.along === 'vector' ? 'SHAPE_UNSUPPORTED' : 'CODEC_INVALID', {
      message: `the codec ${JSON.stringify(codes)} encodes groups of another size`,
      value: found.groupSize,
      valid: `${groupSize} elements`,
      next: 'Use a scheme whose codec has this group size.',
      where,
    });
  }
  if (found.groupBytes === groupBytes) return found;
  throw new LowbitKvError('CODEC_INVALID', {
    message: `the codec ${JSON.stringify(codes)} writes groups of another length`,
    value: found.groupBytes,
    valid: `${groupBytes} bytes, as quantizer.groupBytes says`,
    next: 'Correct the scheme, or raise the version of the codec.',
    where,
  });
}
