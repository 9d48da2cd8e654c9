// Codecs of schemes: core's docs/law.md, section 15. Kernels that are compiled for some have their texts before this header, and
// their names in SPLICED_CODECS (src/codecs/codec-source.ts); kernels of the images have none.
#pragma once
#include "general-tensor.cuh"

#if !defined(SPLICED_CODECS)
#define SPLICED_CODECS
#endif

namespace lowbit {

/// Each has SIZE elements and BYTES of a group, `encode(values, bytes)` and `decode(bytes, values)`. Bytes lie at any address.
template <typename... Codecs>
struct CodecList {
  static constexpr bool SOME = sizeof...(Codecs) > 0;

  /// Calls back with the codec of a number, the first being 1.
  template <typename Use>
  static LOWBIT_INLINE void use([[maybe_unused]] uint32_t number, [[maybe_unused]] Use use) {
    [[maybe_unused]] uint32_t own = 0;
    ((number == ++own ? use(Codecs{}) : void()), ...);
  }
};

using SplicedCodecs = CodecList<SPLICED_CODECS>;

LOWBIT_INLINE bool isCodec(const GeneralTensor& tensor) {
  return SplicedCodecs::SOME && tensor.bits != 16 && tensor.mode == GeneralMode::CODEC;
}

}  // namespace lowbit
