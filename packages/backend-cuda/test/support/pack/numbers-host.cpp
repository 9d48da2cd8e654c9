// Prints what halves.cuh and quantize.cuh make of f32 numbers, 128 at a time: their nearest f16 bits; then f32 sums over trees of
// the first 32, of the first 64, and of all. After them come the values of all f16 bits.
#include <cstdio>
#include <vector>

#include "quantize.cuh"

using namespace lowbit;

template <int LEVELS>
static uint32_t treeOf(const float* terms) {
  Tree<LEVELS> tree;
  for (int four = 0; four < 1 << LEVELS; ++four) {
    const float some[4] = {terms[4 * four], terms[4 * four + 1], terms[4 * four + 2], terms[4 * four + 3]};
    tree.add(some);
  }
  return bitsOf(tree.total());
}

int main(int, char** names) {
  std::FILE* input = std::fopen(names[1], "rb");
  std::FILE* output = std::fopen(names[2], "wb");
  if (input == nullptr || output == nullptr) return 1;
  std::vector<uint32_t> words;
  float terms[128];
  while (std::fread(terms, 1, sizeof terms, input) == sizeof terms) {
    for (const float term : terms) words.push_back(halfBits(term));
    words.push_back(treeOf<3>(terms));
    words.push_back(treeOf<4>(terms));
    words.push_back(treeOf<5>(terms));
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) words.push_back(bitsOf(halfValue(bits)));
  if (std::fwrite(words.data(), 4, words.size(), output) != words.size()) return 2;
  std::fclose(input);
  return std::fclose(output) == 0 ? 0 : 3;
}
