// Where a page keeps its codes and parameters: in the order in which lanes of a warp hand them to the tensor cores.
//
// A page holds 128 tokens of one kv head of one tensor. Attention reduces keys over channels and values over tokens: that
// axis is `reduced`, the other one is `outer`. Codes are the A operand (u8) of mma.m16n8k32: 16 outer elements by 32 reduced.
//
//   word of lane (g, t) = (lane / 4, lane % 4), one k-half (16 reduced elements) of one stripe (8 outer elements a field):
//
//     byte j of the word          reduced element 16 half + place(4 t + j)
//     field f of a byte           outer element 8 * (fields * stripe + f) + g; fields = 8 / bits
//
// so that one AND makes a register of A: its codes stay where they are in the byte, and the rows of field f come out
// 2^(bits f) too large, which is exact. Lanes read vectors of 4 words (2 when the reduced axis is not a multiple of 64):
// neighbour halves of one stripe.
//
//   words: [stripe][half / vector][lane][half % vector]
//
// With 3 bits a byte has two fields in its lowest six bits, and of four halves the last word is not stored: bits 2 p and 2 p + 1 of
// its bytes are bits 6 and 7 of word p of the other three. The 3 / 4 halves words of a lane and stripe lie in vectors of 4, then one
// of 2, then one of 1.
//
// `place`: keys hold channels in their order. Values hold tokens in the order in which movmatrix hands weights from
// logits to the B operand: place(4 t + j) = 2 t + (j >> 1) + 8 (j & 1).
//
// Parameters follow the codes, planes of f16: scales, then zeros where there are any. Groups along the outer axis of the
// other tensor and along the own one are ordered so that a lane loads what it needs in vectors; see parameterPlace.
#pragma once

#if defined(__CUDACC__)
#define LOWBIT_ANYWHERE __host__ __device__ constexpr
#else
#define LOWBIT_ANYWHERE constexpr
#endif

namespace lowbit {

constexpr int PAGE_TOKENS = 128;
constexpr int LANES = 32;

enum class Tensor { KEY, VALUE };
enum class Along { TOKENS, CHANNELS };

LOWBIT_ANYWHERE int fieldsOfByte(int bits) { return 8 / bits; }

/// Reduced element within 16 at byte place `place`.
LOWBIT_ANYWHERE int reducedAt(Tensor tensor, int place) {
  return tensor == Tensor::KEY ? place : 2 * (place / 4) + (place % 4) / 2 + 8 * (place % 2);
}

/// The inverse of reducedAt.
LOWBIT_ANYWHERE int placeOf(Tensor tensor, int reduced) {
  return tensor == Tensor::KEY ? reduced : 4 * (reduced % 8 / 2) + 2 * (reduced % 2) + reduced / 8;
}

/// The layout of one tensor of one page of one head. Codes are unsigned: what is around zero counts from 2^(bits - 1), but for
/// groups of a hybrid tensor that are over their minimum, whose scales have the sign bit.
struct PageLayout {
  Tensor tensor;
  int bits;       // 2, 3, 4 or 8
  int headDim;    // a multiple of 32
  Along along;
  int groupSize;  // elements that share a scale: 32, 64 or 128, or the head dim
  bool hasZero;
  bool isHybrid = false;

  LOWBIT_ANYWHERE int outer() const { return tensor == Tensor::KEY ? PAGE_TOKENS : headDim; }
  LOWBIT_ANYWHERE int reduced() const { return tensor == Tensor::KEY ? headDim : PAGE_TOKENS; }
  /// Words that a lane loads at once.
  LOWBIT_ANYWHERE int vector() const { return reduced() % 64 == 0 ? 4 : 2; }
  LOWBIT_ANYWHERE int halves() const { return reduced() / 16; }
  LOWBIT_ANYWHERE int stripes() const { return outer() / (8 * fieldsOfByte(bits)); }
  /// Words of a lane and stripe.
  LOWBIT_ANYWHERE int words() const { return bits == 3 ? halves() / 4 * 3 : halves(); }
  LOWBIT_ANYWHERE int codeWords() const { return stripes() * words() * LANES; }
  LOWBIT_ANYWHERE int codeBytes() const { return 4 * codeWords(); }

  /// Of all bits but 3.
  LOWBIT_ANYWHERE int wordIndex(int stripe, int half, int lane) const {
    return ((stripe * (halves() / vector()) + half / vector()) * LANES + lane) * vector() + half % vector();
  }

  /// Of 3 bits: word `number` of a lane and stripe.
  LOWBIT_ANYWHERE int spreadIndex(int stripe, int number, int lane) const {
    const int inFours = words() / 4 * 4, inTwos = words() % 4 / 2 * 2;
    const int first = stripe * words() * LANES;
    if (number < inFours) return first + (number / 4 * LANES + lane) * 4 + number % 4;
    if (number < inFours + inTwos) return first + inFours * LANES + lane * 2 + number % 2;
    return first + (inFours + inTwos) * LANES + lane;
  }

  /// Where bit `number` of a code lies, from the first of the codes.
  LOWBIT_ANYWHERE int codeBit(int token, int channel, int number = 0) const {
    const int out = tensor == Tensor::KEY ? token : channel;
    const int red = tensor == Tensor::KEY ? channel : token;
    const int fields = fieldsOfByte(bits);
    const int stripe = out / (8 * fields);
    const int field = out % (8 * fields) / 8;
    const int place = placeOf(tensor, red % 16);
    const int lane = 4 * (out % 8) + place / 4;
    const int half = red / 16, byte = 8 * (place % 4), bit = bits * field + number;
    if (bits != 3) return 32 * wordIndex(stripe, half, lane) + byte + bit;
    const int first = half / 4 * 3;
    if (half % 4 < 3) return 32 * spreadIndex(stripe, first + half % 4, lane) + byte + bit;
    return 32 * spreadIndex(stripe, first + bit / 2, lane) + byte + 6 + bit % 2;
  }

  /// Whether f16 tensor cores meet it (half-keys.cuh): scales of small groups fold into queries, and with 2 bits that is most of the work.
  LOWBIT_ANYWHERE bool isMetInHalves() const {
    return tensor == Tensor::KEY && along == Along::TOKENS && bits == 2 && hasZero && !isHybrid && groups() > 1;
  }

  LOWBIT_ANYWHERE int groups() const { return (along == Along::TOKENS ? PAGE_TOKENS : headDim) / groupSize; }
  LOWBIT_ANYWHERE int entries() const { return groups() * (along == Along::TOKENS ? headDim : PAGE_TOKENS); }

  /// Place of the parameters of a group in a plane. `other`: the channel of groups along tokens, the token of groups along
  /// channels. Channels that are reduced lie [t][half][4] for lane (g, t); tokens, and channels of values, lie [g][stripe of 8].
  /// Where f16 tensor cores meet keys, channels 0, 2, 1 and 3 of four: pairs are registers of B.
  LOWBIT_ANYWHERE int parameterPlace(int group, int other) const {
    if (along == Along::TOKENS) {
      const int place = isMetInHalves() ? other % 2 * 2 + other % 4 / 2 : other % 4;
      if (tensor == Tensor::KEY) return group * headDim + other % 16 / 4 * (headDim / 4) + other / 16 * 4 + place;
      return group * headDim + other % 8 * (headDim / 8) + other / 8;
    }
    return group * PAGE_TOKENS + other % 8 * (PAGE_TOKENS / 8) + other / 8;
  }

  LOWBIT_ANYWHERE int scaleByte() const { return codeBytes(); }
  LOWBIT_ANYWHERE int zeroByte() const { return codeBytes() + 2 * entries(); }
  /// A multiple of 128: pieces that straddle sectors are fetched twice.
  LOWBIT_ANYWHERE int bytes() const {
    return (codeBytes() + 2 * entries() * (hasZero ? 2 : 1) + 127) / 128 * 128;
  }
};

}  // namespace lowbit
