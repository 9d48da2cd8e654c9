// Canonical pages of tokens whose outliers are told apart by bands: where a head keeps things, and what outliers differ by
// from what their codes would say in the middle band.
#pragma once
#include <climits>

#include "codes.cuh"
#include "job.cuh"
#include "rest.cuh"

namespace lowbit {

/// A head of a page of 128 tokens: codes of 4 bits, parameters of tokens, ends of their outliers, outliers, of which there is room for
/// MOST_OUTLIERS at most.
template <int DIM>
struct BandPage {
  static constexpr int CHUNKS = DIM / 64;
  static constexpr int ROW_BYTES = DIM / 2;
  static constexpr int PLANE_BYTES = 2 * PAGE_TOKENS;
  static constexpr int MIDDLE_MAXIMUM = PAGE_TOKENS * ROW_BYTES;
  static constexpr int OUTER_MINIMUM = MIDDLE_MAXIMUM + PLANE_BYTES;
  static constexpr int OUTER_STEP = OUTER_MINIMUM + PLANE_BYTES;
  static constexpr int INNER_MINIMUM = OUTER_STEP + PLANE_BYTES;
  static constexpr int INNER_STEP = INNER_MINIMUM + PLANE_BYTES;
  static constexpr int ENDS = INNER_STEP + PLANE_BYTES;
  static constexpr int OUTLIERS = ENDS + 2 * CHUNKS * PAGE_TOKENS;
  static constexpr int MOST_OUTLIERS = 96 * DIM;
  static constexpr int SLOT_BYTES = OUTLIERS + MOST_OUTLIERS;
};

__device__ __forceinline__ float halfIn(const uint8_t* plane, int index) {
  return __half2float(reinterpret_cast<const __half*>(plane)[index]);
}

/// Eight nibbles of sign and magnitude as numbers that rise with what they stand for: 8 + cell above the middle, 7 - cell below, so
/// that bit 3 is set above.
__device__ __forceinline__ uint32_t risingCodes(uint32_t nibbles) {
  const uint32_t low = nibbles & 0x88888888u;
  return nibbles ^ 0x88888888u ^ (low - (low >> 3));
}

/// A code as a value: slope * nibble + intercept.
struct Line {
  float slope;
  float intercept;
};

/// What the middle band makes of a nibble above the middle, or below.
__device__ __forceinline__ Line middleLine(float maximum, bool isLow, const BandTensor& tensor) {
  if (isLow) return {-0.125f * maximum, fmaf(0.9375f, maximum, tensor.innerLow)};
  return {0.125f * maximum, fmaf(0.0625f, maximum, tensor.innerHigh)};
}

/// f16 parameters of the outliers of a token.
struct OutlierParameters {
  float outerMinimum, outerStep, innerMinimum, innerStep;

  /// `plane`: of outer minima.
  __device__ __forceinline__ void load(const uint8_t* plane, int token) {
    constexpr int PLANE_BYTES = 2 * PAGE_TOKENS;
    outerMinimum = halfIn(plane, token), outerStep = halfIn(plane + PLANE_BYTES, token);
    innerMinimum = halfIn(plane + 2 * PLANE_BYTES, token), innerStep = halfIn(plane + 3 * PLANE_BYTES, token);
  }

  /// By the two highest bits of an outlier: bit 0 is set in the outer band, bit 1 on its low side or in the inner band's upper half.
  __device__ __forceinline__ Line line(int kind, const BandTensor& tensor) const {
    if (kind % 2 == 0) return {innerStep, kind / 2 == 1 ? fmaf(16.0f, innerStep, innerMinimum) : innerMinimum};
    return kind / 2 == 1 ? Line{-outerStep, tensor.outerLow - outerMinimum} : Line{outerStep, tensor.outerHigh + outerMinimum};
  }
};

/// As shl of PTX: zero where all bits are shifted out.
__device__ __forceinline__ unsigned shiftedLeft(unsigned x, unsigned by) {
#if defined(__CUDA_ARCH__)
  unsigned y;
  asm("shl.b32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(by));
  return y;
#else
  return by < 32 ? x << by : 0;
#endif
}

/// Which bit is number `rank` of those that are set; 31 where they are fewer.
__device__ __forceinline__ int rankedBit(unsigned bits, int rank) {
  int place = 0;
#pragma unroll
  for (int width = 16; width > 0; width /= 2) {
    const int count = __popc(bits >> place & ((1u << width) - 1u));
    if (rank >= count) rank -= count, place += width;
  }
  return place;
}

/// f16 rows of 16 tokens in shared memory, chunks of eight channels turned as those of RestRows.
template <int DIM>
struct BandTile {
  static constexpr int TOKENS = 16;
  static constexpr int BYTES = 2 * DIM * TOKENS;
  /// Lines of the outliers of a token, [nibble below the middle][kind].
  static constexpr int TABLE_BYTES = 8 * sizeof(Line) * TOKENS;
  /// Corrections are stored this much smaller: they reach twice the range of f16.
  static constexpr float SHRINK = 0.25f;
  /// Outliers of a lane that are on their way together.
  static constexpr int BATCH = 4;

  static __device__ __forceinline__ int at(int token, int channel) { return token * DIM + (channel ^ (token % 8 * 8)); }

  static __device__ __forceinline__ void clear(__half* rows, int lane) {
#pragma unroll
    for (int i = 0; i < BYTES / (16 * LANES); i++) reinterpret_cast<uint4*>(rows)[LANES * i + lane] = make_uint4(0u, 0u, 0u, 0u);
  }

  /// Lines of tokens 16 `number` on: lanes t and t + 16 those of token t.
  static __device__ __forceinline__ void fillTable(Line* table, const uint8_t* page, int number, const BandTensor& tensor, int lane) {
    using Page = BandPage<DIM>;
    const int token = lane % TOKENS, at = TOKENS * number + token;
    const bool isLow = lane >= TOKENS;
    const Line middle = middleLine(halfIn(page + Page::MIDDLE_MAXIMUM, at), isLow, tensor);
    OutlierParameters parameters;
    parameters.load(page + Page::OUTER_MINIMUM, at);
    float4* lines = reinterpret_cast<float4*>(table + 8 * token + (isLow ? 4 : 0));
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const Line inner = parameters.line(2 * i, tensor), outer = parameters.line(2 * i + 1, tensor);
      lines[i] = make_float4(SHRINK * (inner.slope - middle.slope), SHRINK * (inner.intercept - middle.intercept),
                             SHRINK * (outer.slope - middle.slope), SHRINK * (outer.intercept - middle.intercept));
    }
  }

  /// Adds to a cleared tile what outliers of tokens 16 `number` on differ by. Tokens from `first` to `end` count. Order: where channels
  /// lie in a row. False where there are none.
  template <class Order>
  static __device__ __forceinline__ bool scatter(__half* rows, Line* table, const uint8_t* page, int number, int first, int end,
                                                 const BandTensor& tensor, int lane) {
    using Page = BandPage<DIM>;
    constexpr unsigned CHUNKS = Page::CHUNKS, RUNS = CHUNKS * TOKENS;
    // A run of outliers to a lane: of a chunk of channels of a token.
    const uint16_t* ends = reinterpret_cast<const uint16_t*>(page + Page::ENDS) + RUNS * number;
    const unsigned token = static_cast<unsigned>(lane) / CHUNKS, chunk = static_cast<unsigned>(lane) % CHUNKS;
    const int slot = TOKENS * number + static_cast<int>(token);
    const bool isSeen = lane < RUNS && slot >= first && slot < end;
    const int runEnd = isSeen ? ends[lane] : 0;
    const int runBegin = isSeen && (number > 0 || lane > 0) ? ends[lane - 1] : 0;
    const bool isFilled = runEnd > runBegin;
    // Reductions, so that all lanes are known to agree.
    const int from = __reduce_min_sync(ALL, isFilled ? runBegin : INT_MAX);
    const int to = __reduce_max_sync(ALL, isFilled ? runEnd : 0);
    if (from >= to) return false;
    fillTable(table, page, number, tensor, lane);
    __syncwarp();
    // The run that is number `lane` among the filled ones: in bytes, where its first channel lies in the tile; bits that channels add
    // are turned by its token. From bit 16 on, where its codes begin.
    const unsigned filled = __ballot_sync(ALL, isFilled);
    unsigned runOfRank = (token * (2 * DIM) + (Order::chunk(chunk) ^ token % 8 * 16)) | (token * (DIM / 2) + 32 * chunk) << 16;
    if ((filled & (filled + 1u)) != 0u) runOfRank = __shfl_sync(ALL, runOfRank, rankedBit(filled, lane));
    const unsigned upToLane = 0xffffffffu >> (31 - lane);
    const uint8_t* codes = page + 32 * RUNS * number;
    const uint8_t* outliers = page + Page::OUTLIERS + lane;
    uint8_t* bytes = reinterpret_cast<uint8_t*>(rows);
    const uint8_t* lines = reinterpret_cast<const uint8_t*>(table);
    const unsigned one = isFilled ? 1u : 0u;
    const int last = to - 1 - lane;
    int rank = -1;
#pragma unroll 1
    for (int base = from; base < to; base += LANES * BATCH) {
      unsigned runs[BATCH], found[BATCH], nibbles[BATCH];
      float2 line[BATCH];
      // Lanes beyond the last outlier do its work again.
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        const unsigned begins = __reduce_or_sync(ALL, shiftedLeft(one, static_cast<unsigned>(runBegin - base - LANES * i)));
        runs[i] = __shfl_sync(ALL, runOfRank, rank + __popc(begins & upToLane));
        rank += __popc(begins);
        found[i] = outliers[min(base + LANES * i, last)];
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        const unsigned codesOfRun = runs[i] >> 16;
        nibbles[i] = codes[codesOfRun | (found[i] >> 1 & 31u)] >> (found[i] << 2 & 4u) & 15u;
        // A token has as many bytes of lines as of codes at most, or twice as many.
        const unsigned ofToken = DIM == 128 ? codesOfRun & ~63u : codesOfRun * 2;
        line[i] = *reinterpret_cast<const float2*>(lines + (ofToken | (nibbles[i] << 2 & 32u) | (found[i] >> 3 & 24u)));
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++)
        *reinterpret_cast<__half*>(bytes + ((runs[i] & 0xffffu) ^ Order::channel(found[i]))) =
            __float2half_rn(fmaf(static_cast<float>(nibbles[i]), line[i].x, line[i].y));
    }
    return true;
  }
};

/// Channels in their order. Both give bytes: of the first channel of a chunk, and what the channel of an outlier adds, in other bits.
struct InOrder {
  static __device__ __forceinline__ unsigned chunk(unsigned chunk) { return 128 * chunk; }
  static __device__ __forceinline__ unsigned channel(unsigned outlier) { return outlier * 2 & 126u; }
};

/// Rows of 16 tokens of which some are on packed pages, as RestRows.
template <PageLayout L>
struct BandRows {
  using Page = BandPage<L.headDim>;
  __half* rows;
  const __half* reciprocals;

  static __device__ __forceinline__ int at(int token, int channel) { return BandTile<L.headDim>::at(token, channel); }

  static __device__ __forceinline__ void announce(const BandJob&, unsigned, int, int) {}

  __device__ __forceinline__ void complete(const BandJob&, unsigned, int, int) const { awaitAllCopies(); }

  __device__ __forceinline__ void fetch(const BandJob& job, unsigned held, int head, int lane) const {
    constexpr bool IS_KEY = L.tensor == Tensor::KEY;
    const BandTensor& tensor = IS_KEY ? job.key : job.value;
    const uint8_t* pages = IS_KEY ? job.keys : job.values;
    const __half* windows = IS_KEY ? job.keyWindows : job.valueWindows;
    const __half* input = IS_KEY ? job.keyInput : job.valueInput;
#pragma unroll 1
    for (int token = 0; token < 16; token++) {
      const unsigned place = __shfl_sync(ALL, held, token);
      if (sourceOf(place) != PACKED) {
        const __half* row = (sourceOf(place) == WINDOW ? windows : input) + static_cast<size_t>(plainRowOf(job, place, head)) * L.headDim;
        if (lane < L.headDim / 8) copy16(sharedAddress(rows + at(token, 8 * lane)), row + 8 * lane);
        continue;
      }
      const int number = static_cast<int>(rowNumberOf(place)), slot = number % PAGE_TOKENS;
      const uint8_t* page = pages + (static_cast<size_t>(number / PAGE_TOKENS) * job.kvHeads + head) * tensor.headBytes;
      const uint8_t* codes = page + slot * Page::ROW_BYTES;
      const float maximum = halfIn(page + Page::MIDDLE_MAXIMUM, slot);
      OutlierParameters parameters;
      parameters.load(page + Page::OUTER_MINIMUM, slot);
      for (int channel = lane; channel < L.headDim; channel += LANES) {
        const int nibble = codes[channel / 2] >> channel % 2 * 4 & 15;
        store(token, channel, nibble, middleLine(maximum, nibble >= 8, tensor));
      }
      __syncwarp();
      const uint16_t* ends = reinterpret_cast<const uint16_t*>(page + Page::ENDS) + slot * Page::CHUNKS;
      for (int chunk = 0; chunk < Page::CHUNKS; chunk++) {
        const int begin = slot + chunk == 0 ? 0 : ends[chunk - 1];
        for (int i = begin + lane; i < ends[chunk]; i += LANES) {
          const unsigned outlier = page[Page::OUTLIERS + i];
          const int channel = 64 * chunk + static_cast<int>(outlier & 63u);
          const int nibble = codes[channel / 2] >> channel % 2 * 4 & 15;
          store(token, channel, nibble, parameters.line(static_cast<int>(outlier >> 6), tensor));
        }
      }
    }
  }

 private:
  __device__ __forceinline__ void store(int token, int channel, int nibble, Line line) const {
    rows[at(token, channel)] = __float2half_rn(fmaf(static_cast<float>(nibble), line.slope, line.intercept));
  }
};

}  // namespace lowbit
