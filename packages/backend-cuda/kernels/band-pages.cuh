// Pages of tokens whose outliers are told apart by bands, canonical but for outliers that are words: where a head keeps things, and
// what outliers differ by from what their codes would say in the middle band.
#pragma once
#include "codes.cuh"
#include "job.cuh"
#include "outlier-words.cuh"
#include "rest.cuh"

namespace lowbit {

/// A head of a page of 128 tokens: codes of 4 bits, parameters of tokens, ends of their outliers, outliers, of which there is room for
/// MOST_OUTLIERS bytes at most, as bytes or as words.
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
  /// Words behind the last outlier that are read, and left out.
  static constexpr int READ_BEHIND = 256;
  static constexpr int SLOT_BYTES = OUTLIERS + MOST_OUTLIERS + READ_BEHIND;
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
  __device__ __forceinline__ void load(const uint8_t* plane, int token, float factor = 1.0f) {
    constexpr int PLANE_BYTES = 2 * PAGE_TOKENS;
    outerMinimum = factor * halfIn(plane, token), outerStep = factor * halfIn(plane + PLANE_BYTES, token);
    innerMinimum = factor * halfIn(plane + 2 * PLANE_BYTES, token), innerStep = factor * halfIn(plane + 3 * PLANE_BYTES, token);
  }

  /// By the two highest bits of an outlier: bit 0 is set in the outer band, bit 1 on its low side or in the inner band's upper half.
  __device__ __forceinline__ Line line(int kind, const BandTensor& tensor) const {
    if (kind % 2 == 0) return {innerStep, kind / 2 == 1 ? fmaf(16.0f, innerStep, innerMinimum) : innerMinimum};
    return kind / 2 == 1 ? Line{-outerStep, tensor.outerLow - outerMinimum} : Line{outerStep, tensor.outerHigh + outerMinimum};
  }
};

/// The same, which the compiler holds in a register: it would make it again from the number of the thread in every turn of a loop.
template <class T>
__device__ __forceinline__ T heldBack(T value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(T) == 4, "pointers would lose what memory they are of");
  asm volatile("" : "+r"(value));
#endif
  return value;
}

/// Whether the outliers of a page are canonical bytes, not words.
template <int DIM>
__device__ __forceinline__ bool hasBytes(const uint8_t* page) {
  // A reduction, so that all lanes are known to agree.
  return (__reduce_or_sync(ALL, *reinterpret_cast<const uint16_t*>(page + BandPage<DIM>::ENDS)) & BYTES_MARK) != 0;
}

/// How many outliers of a page come before a token.
template <int DIM>
__device__ __forceinline__ int outliersBefore(const uint8_t* page, int token) {
  using Page = BandPage<DIM>;
  if (token == 0) return 0;
  return static_cast<int>(reinterpret_cast<const uint16_t*>(page + Page::ENDS)[Page::CHUNKS * token - 1] & (BYTES_MARK - 1u));
}

/// Bits of 1024 + the lowest three bits of a word in f16.
__device__ __forceinline__ unsigned bitsOver1024(unsigned word) {
#if defined(__CUDA_ARCH__)
  unsigned bits;
  asm("lop3.b32 %0, %1, 7, 0x6400, 0xea;" : "=r"(bits) : "r"(word));
  return bits;
#else
  return (word & 7u) | 0x6400u;
#endif
}

/// f16 rows of 16 tokens in shared memory, elements of a row at outlierPlace: blocks of 1024 elements, each followed by lines of its
/// tokens and of those 16 later.
template <int DIM>
struct BandTile {
  static constexpr int TOKENS = 16;
  static constexpr int ROWS_BYTES = 2 * PLACES;
  static constexpr int BLOCK_TOKENS = PLACES / DIM;
  static constexpr int BLOCKS = TOKENS / BLOCK_TOKENS;
  /// Lines of outliers: pairs of f16, [kind][low side of the middle][token].
  static constexpr int LINES_BYTES = 4 * 8 * BLOCK_TOKENS;
  /// From lines to those of the later tokens, in other banks.
  static constexpr int LATER_LINES = LINES_BYTES + 64;
  /// ldmatrix turns addresses within multiples of 256 bytes.
  static constexpr int BLOCK_BYTES = (ROWS_BYTES + LATER_LINES + LINES_BYTES + 255) / 256 * 256;
  static constexpr int BYTES = BLOCKS * BLOCK_BYTES;
  /// Corrections are stored this much smaller: they reach twice the range of f16.
  static constexpr float SHRINK = 0.25f;
  /// Lines count magnitudes from here: less is lost of what is rounded to f16.
  static constexpr float CENTRE = 4.0f;
  /// Outliers of a lane that are on their way together.
  static constexpr int BATCH = 4;

  /// Of an element, in f16.
  static __device__ __forceinline__ int at(int token, int channel) {
    return token / BLOCK_TOKENS * (BLOCK_BYTES / 2) + token % BLOCK_TOKENS * DIM + (channel ^ (token % 8 * 8));
  }

  static __device__ __forceinline__ void clear(uint8_t* tile, int lane) {
#pragma unroll
    for (int block = 0; block < BLOCKS; block++)
#pragma unroll
      for (int i = 0; i < ROWS_BYTES / (16 * LANES); i++)
        reinterpret_cast<uint4*>(tile + block * BLOCK_BYTES)[LANES * i + lane] = make_uint4(0u, 0u, 0u, 0u);
  }

  /// Lines of tokens 32 `pair` on, less those of the middle band: a lane those of a token.
  static __device__ __forceinline__ void fillLines(uint8_t* tile, const uint8_t* page, int pair, const BandTensor& tensor, int lane) {
    using Page = BandPage<DIM>;
    const int token = lane % TOKENS, slot = 2 * TOKENS * pair + lane;
    const float maximum = SHRINK * halfIn(page + Page::MIDDLE_MAXIMUM, slot);
    OutlierParameters parameters;
    parameters.load(page + Page::OUTER_MINIMUM, slot, SHRINK);
    const BandTensor shrunk = {0, SHRINK * tensor.outerLow, SHRINK * tensor.outerHigh, SHRINK * tensor.innerLow, SHRINK * tensor.innerHigh};
    uint8_t* at = tile + token / BLOCK_TOKENS * BLOCK_BYTES + ROWS_BYTES + (lane < TOKENS ? 0 : LATER_LINES);
    __half2* lines = reinterpret_cast<__half2*>(at) + token % BLOCK_TOKENS;
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const Line middle = middleLine(maximum, side == 1, shrunk);
#pragma unroll
      for (int kind = 0; kind < 4; kind++) {
        const Line line = parameters.line(kind, shrunk);
        const float slope = line.slope - middle.slope;
        lines[BLOCK_TOKENS * (2 * kind + side)] =
            __floats2half2_rn(slope, fmaf(CENTRE + 8.0f * static_cast<float>(side), slope, line.intercept - middle.intercept));
      }
    }
  }

  /// What an outlier differs by goes to its place. `block`: of its token. `lines`: from there, of its tokens.
  static __device__ __forceinline__ __half2 lineOf(const uint8_t* block, int lines, unsigned word) {
    constexpr unsigned PER_ROW = DIM == 128 ? 8 : 7;
    return *reinterpret_cast<const __half2*>(block + (word >> PER_ROW & (LINES_BYTES - 4)) + lines);
  }

  static __device__ __forceinline__ void put(uint8_t* block, unsigned word, __half2 line, bool isThere = true) {
    const __half magnitude = __ushort_as_half(static_cast<unsigned short>(bitsOver1024(word)));
    const __half fromCentre = __hsub(magnitude, __float2half_rn(1024.0f + CENTRE));
    const __half difference = __hfma(fromCentre, __low2half(line), __high2half(line));
    __half* place = reinterpret_cast<__half*>(block + (word >> 2 & (ROWS_BYTES - 2)));
    if (isThere) *place = difference;
  }

  /// Outliers of 16 tokens that go to a tile: from `first` on, those from `late` on in its second block, none from `behind` on.
  struct Run {
    int first, late, behind;
  };

  /// Those of tokens 16 `number` on up to `end`. `before`: how many outliers come before, and come to be before the next tokens.
  static __device__ __forceinline__ Run runOf(const uint8_t* page, int number, int& before, int end) {
    // A reduction, so that all lanes are known to agree.
    const int behind = __reduce_max_sync(ALL, outliersBefore<DIM>(page, min(end, TOKENS * (number + 1))));
    const int late = BLOCKS == 1 ? behind : outliersBefore<DIM>(page, min(end, TOKENS * number + BLOCK_TOKENS));
    const Run run = {before, late, behind};
    before = max(before, behind);
    return run;
  }

  /// Adds to a cleared tile what LANES * BATCH outliers of a run, which are words, differ by. Words behind the run are read, and left out.
  static __device__ __forceinline__ void scatterWords(uint8_t* tile, int lines, const uint8_t* page, int late, int first, int behind, int lane) {
    const int own = first + lane;
    const uint16_t* outliers = reinterpret_cast<const uint16_t*>(page + BandPage<DIM>::OUTLIERS) + own;
    unsigned words[BATCH];
    uint8_t* blocks[BATCH];
    __half2 found[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) words[i] = outliers[LANES * i], blocks[i] = BLOCKS > 1 && own >= late - LANES * i ? tile + BLOCK_BYTES : tile;
#pragma unroll
    for (int i = 0; i < BATCH; i++) found[i] = lineOf(blocks[i], lines, words[i]);
#pragma unroll
    for (int i = 0; i < BATCH; i++) put(blocks[i], words[i], found[i], own < behind - LANES * i);
  }

  static __device__ __forceinline__ int linesAt(bool isLater) { return ROWS_BYTES + (isLater ? LATER_LINES : 0); }

  /// The first of a run, in a straight line with what comes after it.
  static __device__ __forceinline__ void begin(uint8_t* tile, const uint8_t* page, const Run& run, bool isLater, bool areBytes, int lane) {
    scatterWords(tile, linesAt(isLater), page, run.late, run.first, areBytes ? run.first : run.behind, lane);
  }

  /// All others.
  template <OutlierOrder ORDER>
  static __device__ __forceinline__ void finish(uint8_t* tile, const uint8_t* page, int number, const Run& run, bool isLater, bool areBytes, int lane) {
    if (areBytes) {
      scatterBytes<ORDER>(tile, linesAt(isLater), page, number, run.first, run.behind, lane);
      return;
    }
#pragma unroll 1
    for (int first = run.first + LANES * BATCH; first < run.behind; first += LANES * BATCH)
      scatterWords(tile, linesAt(isLater), page, run.late, first, run.behind, lane);
  }

  /// Of pages that have more outliers than there is room for as words: a lane takes those of a token and 64 channels.
  template <OutlierOrder ORDER>
  static __device__ __forceinline__ void scatterBytes(uint8_t* tile, int lines, const uint8_t* page, int number, int first, int behind, int lane) {
    using Page = BandPage<DIM>;
    const unsigned token = static_cast<unsigned>(lane) / Page::CHUNKS, chunk = static_cast<unsigned>(lane) % Page::CHUNKS;
    if (token >= TOKENS) return;
    const int slot = TOKENS * number + static_cast<int>(token);
    const uint16_t* ends = reinterpret_cast<const uint16_t*>(page + Page::ENDS) + Page::CHUNKS * slot + chunk;
    const uint8_t* codes = page + Page::ROW_BYTES * slot;
    uint8_t* block = tile + BLOCK_BYTES * (token / BLOCK_TOKENS);
    const int from = slot + chunk == 0 ? 0 : static_cast<int>(ends[-1] & (BYTES_MARK - 1u));
    const int to = min(static_cast<int>(ends[0] & (BYTES_MARK - 1u)), behind);
#pragma unroll 1
    for (int i = max(from, first); i < to; i++) {
      const unsigned byte = page[Page::OUTLIERS + i], channel = 64 * chunk + (byte & 63u);
      const unsigned nibble = codes[channel / 2] >> channel % 2 * 4;
      const unsigned word = outlierWord(outlierPlace(DIM, ORDER, token, channel), byte, nibble);
      put(block, word, lineOf(block, lines, word));
    }
  }
};

/// Rows of 16 tokens of which some are on packed pages, as RestRows.
template <PageLayout L>
struct BandRows {
  using Page = BandPage<L.headDim>;
  static constexpr OutlierOrder ORDER = L.tensor == Tensor::KEY ? OutlierOrder::KEY : OutlierOrder::VALUE;
  static_assert(Page::CHUNKS <= 2);
  __half* rows;
  const __half* reciprocals;

  static __device__ __forceinline__ int at(int token, int channel) { return token * L.headDim + (channel ^ (token % 8 * 8)); }

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
      const int behind = outliersBefore<L.headDim>(page, slot + 1);
      const uint16_t* ends = reinterpret_cast<const uint16_t*>(page + Page::ENDS) + slot * Page::CHUNKS;
      const bool isWord = !hasBytes<L.headDim>(page);
      for (int i = outliersBefore<L.headDim>(page, slot) + lane; i < behind; i += LANES) {
        const uint8_t* outliers = page + Page::OUTLIERS;
        const unsigned outlier = isWord ? outlierByte(L.headDim, ORDER, reinterpret_cast<const uint16_t*>(outliers)[i]) : outliers[i];
        const bool isLater = Page::CHUNKS > 1 && i >= static_cast<int>(ends[0] & (BYTES_MARK - 1u));
        const int channel = static_cast<int>(outlier & 63u) + (isLater ? 64 : 0);
        const int nibble = codes[channel / 2] >> channel % 2 * 4 & 15;
        store(token, channel, nibble, parameters.line(static_cast<int>(outlier >> 6), tensor));
      }
    }
  }

 private:
  __device__ __forceinline__ void store(int token, int channel, int nibble, Line line) const {
    rows[at(token, channel)] = __float2half_rn(fmaf(static_cast<float>(nibble), line.slope, line.intercept));
  }
};

}  // namespace lowbit
