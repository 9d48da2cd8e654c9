/**
 * General kernels with the texts of codecs in them: each in a namespace of its own, so that two codecs fit into one module.
 */
import { type GroupCodec, LowbitKvError } from '@lowbit-kv/core';

/** A codec with text for this backend. */
export type CudaCodec = GroupCodec & { readonly cuda: string };

/** Their numbers, for kernels, are their places here, from 1 on. Throws CODEC_INVALID for texts that include others. */
export function codecSource(codecs: readonly CudaCodec[]): string {
  const names = codecs.map((_, i) => `spliced_codec_${i + 1}`);
  return [
    // Texts may use what kernels include.
    '#include <cmath>',
    '#include <cstdint>',
    '#include <cstring>',
    ...codecs.map((codec, i) => namespaceOf(codec, names[i] as string)),
    `#define SPLICED_CODECS ${names.map((name) => `${name}::Codec`).join(', ')}`,
    '#include "general-attend.cuh"',
    '#include "general-pack.cuh"',
    '',
  ].join('\n');
}

/** As compilers name the text in their messages. */
export function fileOf({ id }: GroupCodec): string {
  return `codec ${id}`;
}

function namespaceOf(codec: CudaCodec, name: string): string {
  const { groupSize, groupBytes, cuda } = codec;
  checkText(codec);
  const macros = [...cuda.matchAll(/^[ \t]*#[ \t]*define[ \t]+(\w+)/gm)].map(([, macro]) => macro);
  return [
    `namespace ${name} {`,
    `#define GROUP_SIZE ${groupSize}`,
    `#define GROUP_BYTES ${groupBytes}`,
    `#line 1 "${fileOf(codec)}"`,
    cuda,
    `#line 1 "after ${fileOf(codec)}"`,
    ...['GROUP_SIZE', 'GROUP_BYTES', ...new Set(macros)].map((macro) => `#undef ${macro}`),
    'struct Codec {',
    `  static constexpr unsigned SIZE = ${groupSize};`,
    `  static constexpr unsigned BYTES = ${groupBytes};`,
    '  static __device__ void encode(const float* values, unsigned char* bytes) { encodeGroup(values, bytes); }',
    '  static __device__ void decode(const unsigned char* bytes, float* values) { decodeGroup(bytes, values); }',
    '};',
    '}',
  ].join('\n');
}

/** What is included would be declared in the namespace. */
function checkText(codec: CudaCodec): void {
  const include = /^[ \t]*#[ \t]*include.*/m.exec(codec.cuda);
  if (include === null) return;
  throw new LowbitKvError('CODEC_INVALID', {
    message: `the CUDA text of the codec ${JSON.stringify(codec.id)} includes a header`,
    value: include[0].trim(),
    valid: 'text on its own; functions of CUDA and types of <cstdint> are declared before it',
    next: 'Leave the line out, and write what it brings into the text.',
  });
}
