// Sums of packed values whose outliers are told apart by bands.
#pragma once
#include "band-pages.cuh"

namespace lowbit {

/// Channel of place `number` of a lane's sums: those whose codes lie in the bytes that it loads. outlierPlace gives lanes the rows of the
/// transposed tile that they have sums of.
template <int DIM>
__device__ __forceinline__ int bandChannel(int number, int lane) { return DIM / 8 * (lane / 4) + number; }

/// Bytes of four words, turned: word i gets byte i of all, the first word's in its lowest byte. `isSwapped`: words 2 and 3 are first.
__device__ __forceinline__ void turnBytes(uint32_t (&words)[4], bool isSwapped) {
  const uint32_t even = isSwapped ? 0x1054u : 0x5410u, odd = isSwapped ? 0x3276u : 0x7632u;
  const uint32_t a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
  const uint32_t c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(a, b, even), words[1] = __byte_perm(a, b, odd);
  words[2] = __byte_perm(c, d, even), words[3] = __byte_perm(c, d, odd);
}

/// What codes in the high nibble of a byte are too large by.
constexpr float HIGH_NIBBLE = 16.0f;

/// Sums of 32 tokens, of eight channels of a lane: of low nibbles, and of high ones, which stay where they are. `first`, `second`: a word
/// of token 2 t and of the next, those of odd t the other way round.
template <int ROW_BYTES>
__device__ __forceinline__ void meetCodes(int (&codes)[4][4], int (&sides)[4][4], const uint8_t* first, const uint8_t* second,
                                          const uint32_t* codeWeights, const uint32_t* sideWeights, int t) {
  uint32_t halves[2][4];
#pragma unroll
  for (int half = 0; half < 2; half++) {
    // In the order of the weights' bytes; see layout.cuh. Lanes of odd t begin with the odd tokens, which lie in other banks.
#pragma unroll
    for (int j = 0; j < 4; j++)
      halves[half][j] = risingCodes(*reinterpret_cast<const uint32_t*>((j < 2 ? first : second) + (16 * half + j % 2 * 8) * ROW_BYTES));
    turnBytes(halves[half], t % 2 == 1);
  }
#pragma unroll
  for (int byte = 0; byte < 4; byte++) {
    const uint32_t early = halves[0][byte], late = halves[1][byte];
    const uint32_t a[4] = {early & 0x0f0f0f0fu, early & 0xf0f0f0f0u, late & 0x0f0f0f0fu, late & 0xf0f0f0f0u};
    const uint32_t b[4] = {early & 0x08080808u, early & 0x80808080u, late & 0x08080808u, late & 0x80808080u};
    multiplyUnsigned(codes[byte], a, codeWeights[0], codeWeights[1]);
    multiplyUnsigned(sides[byte], b, sideWeights[0], sideWeights[1]);
  }
}

/// Elements move to the front by COUNT, those of the front to the end.
template <int COUNT, class Element, int SIZE>
__device__ __forceinline__ void pushOn(Element (&elements)[SIZE]) {
  Element first[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) first[i] = elements[i];
#pragma unroll
  for (int i = 0; i < SIZE - COUNT; i++) elements[i] = elements[i + COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) elements[SIZE - COUNT + i] = first[i];
}

/// Adds the values of a page: `logits` become weights. `tile`, `table`: of the warp, the tile cleared.
template <PageLayout V>
__device__ __forceinline__ void meetBandValues(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int first, int end,
                                               const BandTensor& tensor, uint8_t* tile, int lane) {
  constexpr int DIM = V.headDim, ROWS = PAGE_TOKENS / 8, PAIRS = DIM / 16;
  using Page = BandPage<DIM>;
  using Tile = BandTile<DIM>;
  const int g = lane / 4, t = lane % 4;
  float kept, added;
  if (!weigh<V>(seen, logits, kept, added)) return;
  // Weights times the scales of tokens, and weights alone.
  uint32_t codeWeights[ROWS / 2], sideWeights[ROWS / 2];
  float peak = 0.0f;
  {
    float scaled[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      // A slot without a token has no weight, and any scale.
      scaled[i] = logits[i] > 0.0f ? logits[i] * halfIn(page + Page::MIDDLE_MAXIMUM, 8 * i + g) : 0.0f;
      peak = fmaxf(peak, scaled[i]);
    }
    peak = maxOfRows(peak);
    const float inverse = peak > 1e-30f ? __fdividef(LARGEST_WEIGHT, peak) : 0.0f;
#pragma unroll
    for (int half = 0; half < ROWS / 2; half++) {
      codeWeights[half] = weightBytes(fmaf(scaled[2 * half], inverse, UNSIGNED_ZERO), fmaf(scaled[2 * half + 1], inverse, UNSIGNED_ZERO));
      sideWeights[half] =
          weightBytes(fmaf(logits[2 * half], LARGEST_WEIGHT, UNSIGNED_ZERO), fmaf(logits[2 * half + 1], LARGEST_WEIGHT, UNSIGNED_ZERO));
    }
  }
  int ones[4];
  sumWeights<ROWS / 4>(ones, codeWeights, 0);
  const float codeHigh = __int_as_float(ones[0]) - UNSIGNED_ZERO, codeLow = __int_as_float(ones[1]) - UNSIGNED_ZERO;
  sumWeights<ROWS / 4>(ones, sideWeights, 0);
  const float sideHigh = __int_as_float(ones[0]) - UNSIGNED_ZERO, sideLow = __int_as_float(ones[1]) - UNSIGNED_ZERO;
  const float codeFactor = added * peak * (0.125f / LARGEST_WEIGHT);
  const float sideFactor = added * (0.125f / LARGEST_WEIGHT) * (tensor.innerHigh - tensor.innerLow);
  const float middle = added * (0.5f / LARGEST_WEIGHT) * (tensor.innerHigh + tensor.innerLow);
  // Codes count from 8, where they stand for half a step; sides count from their middle.
  const float base = fmaf(fmaf(256.0f, codeHigh, codeLow), 0.5f * codeFactor, fmaf(256.0f, sideHigh, sideLow) * middle);

  float corrections[PAIRS][4] = {};
  int codes[4][4], sides[4][4];
  const auto beginSums = [&] {
#pragma unroll
    for (int byte = 0; byte < 4; byte++)
#pragma unroll
      for (int i = 0; i < 4; i++) codes[byte][i] = sides[byte][i] = UNSIGNED_ZERO_BITS;
  };
  beginSums();
  const int ownByte = heldBack((2 * t + t % 2) * Page::ROW_BYTES + DIM / 16 * g);
  const int otherByte = heldBack((2 * t + 1 - t % 2) * Page::ROW_BYTES + DIM / 16 * g);
  const uint32_t tileRow = heldBack(sharedAddress(reinterpret_cast<const __half*>(tile) + Tile::at(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8)));
  const bool areBytes = hasBytes<DIM>(page);
  int before = __reduce_max_sync(ALL, outliersBefore<DIM>(page, first));
  // Each turn meets the outliers of 32 tokens, and codes of 64 of eight channels of a lane: not written out, as its code would not fit
  // into the instruction cache, but arrays are pushed on.
#pragma unroll 1
  for (int pair = 0; pair < PAGE_TOKENS / 32; pair++) {
    constexpr int PAIRS_OF_WORD = ROWS / 8;
    const int word = pair / PAIRS_OF_WORD;
    Tile::fillLines(tile, page, pair, tensor, lane);
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const typename Tile::Run run = Tile::runOf(page, 2 * pair + half, before, end);
      Tile::begin(tile, page, run, half == 1, areBytes, lane);
      if (word < DIM / 64) {
        const uint8_t* rows = page + (64 * (pair % PAIRS_OF_WORD) + 32 * half) * Page::ROW_BYTES + 4 * word;
        meetCodes<Page::ROW_BYTES>(codes, sides, rows + ownByte, rows + otherByte, codeWeights + 2 * half, sideWeights + 2 * half, t);
      }
      Tile::template finish<OutlierOrder::VALUE>(tile, page, 2 * pair + half, run, half == 1, areBytes, lane);
      uint32_t b[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const float weight = logits[2 * half + i];
        const __half high = __float2half_rn(weight);
        b[i] = transposed(pairOf(high, __float2half_rn(weight - __half2float(high))));
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        uint32_t a[4];
        loadTransposed(a, tileRow ^ 32 * i);
        multiplyHalves(corrections[i], a, b[0], b[1]);
      }
      __syncwarp();
      Tile::clear(tile, lane);
      if (half == 0) __syncwarp();
    }
    pushOn<4>(codeWeights);
    pushOn<4>(sideWeights);
    pushOn<4>(logits);
    if (pair % PAIRS_OF_WORD == PAIRS_OF_WORD - 1 && word < DIM / 64) {
#pragma unroll
      for (int byte = 0; byte < 4; byte++)
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float scale = row == 0 ? 1.0f : HIGH_NIBBLE;
          const float code = fmaf(256.0f, __int_as_float(codes[byte][2 * row]) - fmaf(codeHigh, 8.0f * scale, UNSIGNED_ZERO),
                                  __int_as_float(codes[byte][2 * row + 1]) - fmaf(codeLow, 8.0f * scale, UNSIGNED_ZERO));
          const float side = fmaf(256.0f, __int_as_float(sides[byte][2 * row]) - fmaf(sideHigh, 4.0f * scale, UNSIGNED_ZERO),
                                  __int_as_float(sides[byte][2 * row + 1]) - fmaf(sideLow, 4.0f * scale, UNSIGNED_ZERO));
          float& out = seen.output[2 * byte + row];
          out = fmaf(out, kept, fmaf(code, codeFactor / scale, fmaf(side, sideFactor / scale, base)));
        }
      pushOn<8>(seen.output);
      beginSums();
    }
  }
  const float factor = added / Tile::SHRINK;
#pragma unroll
  for (int pair = 0; pair < PAIRS; pair++) {
    seen.output[2 * pair] = fmaf(corrections[pair][0] + corrections[pair][1], factor, seen.output[2 * pair]);
    seen.output[2 * pair + 1] = fmaf(corrections[pair][2] + corrections[pair][3], factor, seen.output[2 * pair + 1]);
  }
}

}  // namespace lowbit
