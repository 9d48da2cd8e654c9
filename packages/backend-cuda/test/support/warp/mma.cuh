// kernels/mma.cuh for the host: the same functions, by the definition of their instructions (PTX ISA, sections 9.7.14 and 9.7.9).
#pragma once
#include <cuda_fp16.h>

#define LOWBIT_BULK 1

namespace lowbit {

/// Sums of 16 by 8; lane (g, t) has columns 2 t and 2 t + 1 of rows g and g + 8.
template <class Sum>
struct Fragments {
  Sum sum[4];
  uint32_t a[4], b[2];
};

/// `left` and `right` give an element of a register of a and of b.
template <int DEPTH, class Sum, class Left, class Right>
void multiply(const char* what, Sum (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, Left left, Right right) {
  Fragments<Sum> given = {{sum[0], sum[1], sum[2], sum[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  struct Taken { Sum sum[4]; };
  const Taken taken = host::together<Taken>(what, given, [&](auto& in, auto& out) {
    // Elements of a register lie side by side in k; the upper half of k is in registers two on.
    constexpr int OF_REGISTER = DEPTH / 8;
    Sum rows[16][DEPTH], columns[8][DEPTH];
    for (int k = 0; k < DEPTH; k++) {
      const int t = k % (DEPTH / 2) / OF_REGISTER, half = k / (DEPTH / 2), element = k % OF_REGISTER;
      for (int row = 0; row < 16; row++) rows[row][k] = left(in[row % 8 * 4 + t]->a[2 * half + row / 8], element);
      for (int column = 0; column < 8; column++) columns[column][k] = right(in[column * 4 + t]->b[half], element);
    }
    for (int row = 0; row < 16; row++) {
      for (int column = 0; column < 8; column++) {
        const int lane = row % 8 * 4 + column / 2, place = 2 * (row / 8) + column % 2;
        Sum products = 0;
        for (int k = 0; k < DEPTH; k++) products += rows[row][k] * columns[column][k];
        out[lane]->sum[place] = in[lane]->sum[place] + products;
      }
    }
  });
  for (int i = 0; i < 4; i++) sum[i] = taken.sum[i];
}

inline int unsignedOf(uint32_t bytes, int i) { return static_cast<int>(bytes >> 8 * i & 255); }
inline int signedOf(uint32_t bytes, int i) { return static_cast<int8_t>(bytes >> 8 * i & 255); }
inline float halfOf(uint32_t pair, int i) { return __half2float({static_cast<uint16_t>(pair >> 16 * i)}); }

inline void multiplySigned(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply<32>("multiplySigned", sum, a, b0, b1, unsignedOf, signedOf);
}

inline void multiplyUnsigned(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply<32>("multiplyUnsigned", sum, a, b0, b1, unsignedOf, unsignedOf);
}

inline void multiplyHalves(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply<16>("multiplyHalves", sum, a, b0, b1, halfOf, halfOf);
}

inline uint32_t transposed(uint32_t rows) {
  return host::together<uint32_t>("transposed", rows, [](auto& in, auto& out) {
    const auto element = [&](int row, int column) { return *in[row * 4 + column / 2] >> 16 * (column % 2) & 0xffff; };
    for (int lane = 0; lane < 32; lane++) {
      const int g = lane / 4, t = lane % 4;
      *out[lane] = element(2 * t, g) | element(2 * t + 1, g) << 16;
    }
  });
}

inline float exp2Fast(float x) { return std::exp2(x); }

struct FourRegisters {
  uint32_t a[4];
};

inline FourRegisters loadFour(const char* what, uint32_t row, bool isTurned) {
  return host::together<FourRegisters>(what, row, [&](auto& in, auto& out) {
    for (int matrix = 0; matrix < 4; matrix++) {
      const auto element = [&](int r, int column) {
        const uint32_t address = *in[8 * matrix + r];
        if (address % 16 != 0) host::fail("a row of a matrix that is out of alignment");
        uint16_t value;
        std::memcpy(&value, shared + address + 2 * column, 2);
        return static_cast<uint32_t>(value);
      };
      for (int lane = 0; lane < 32; lane++) {
        const int g = lane / 4, t = lane % 4;
        out[lane]->a[matrix] =
          isTurned ? element(2 * t, g) | element(2 * t + 1, g) << 16 : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
      }
    }
  });
}

inline void loadMatrices(uint32_t (&a)[4], uint32_t row) {
  const FourRegisters four = loadFour("loadMatrices", row, false);
  for (int i = 0; i < 4; i++) a[i] = four.a[i];
}

inline void loadTransposed(uint32_t (&a)[4], uint32_t row) {
  const FourRegisters four = loadFour("loadTransposed", row, true);
  for (int i = 0; i < 4; i++) a[i] = four.a[i];
}

inline uint32_t sharedAddress(const void* pointer) {
  const auto offset = static_cast<const uint8_t*>(pointer) - shared;
  if (offset < 0 || offset >= static_cast<ptrdiff_t>(host::SHARED_BYTES)) host::fail("an address outside of shared memory");
  return static_cast<uint32_t>(offset);
}

inline void copyLater(uint32_t to, const void* from, size_t bytes) {
  if (to % bytes != 0 || reinterpret_cast<uintptr_t>(from) % bytes != 0) host::fail("a copy that is out of alignment");
  const host::Copy copy = {shared + to, from, bytes};
  if (host::block.weather.isEager) copy.run();
  else host::block.lane->copies.push_back(copy);
}

inline void copy16(uint32_t to, const void* from) { copyLater(to, from, 16); }
inline void copy4(uint32_t to, const void* from) { copyLater(to, from, 4); }

inline void awaitAllCopies() {
  for (const host::Copy& copy : host::block.lane->copies) copy.run();
  host::block.lane->copies.clear();
}

inline unsigned countOne(unsigned* counter, unsigned last) {
  const unsigned before = *counter;
  *counter = before >= last ? 0 : before + 1;
  return before;
}

inline void prefetchLine(const void*) {}
inline void prefetchBulk(const void*, int bytes) {
  if (bytes % 16 != 0) host::fail("a prefetch of no multiple of 16 bytes");
}

inline void initBarrier(uint32_t barrier, int arrivals) {
  if (arrivals != 1 || barrier % 8 != 0) host::fail("a barrier of another kind");
  host::block.barriers[barrier] = {};
}
inline void publishBarriers() {}
inline void fenceCopies() {}

inline void copyBulk(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  if (to % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) host::fail("a page that is out of alignment");
  host::Barrier& own = host::block.barriers.at(barrier);
  if (!own.copies.empty()) host::fail("two copies of a phase");
  own.copies.push_back({shared + to, from, static_cast<size_t>(bytes)});
  if (host::block.weather.isEager) own.copies.back().run();
}

inline void waitBarrier(uint32_t barrier, uint32_t parity) {
  host::Barrier& own = host::block.barriers.at(barrier);
  while (own.phases % 2 == parity) {
    if (own.copies.empty()) {
      host::pause();
      continue;
    }
    if (!host::block.weather.isEager) own.copies[0].run();
    own.copies.clear();
    own.phases++;
    host::block.hasMoved = true;
  }
}

}  // namespace lowbit
