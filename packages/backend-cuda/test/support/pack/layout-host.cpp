// Prints what layout.cuh says of layouts: reads six u32 a layout from one file, and writes to another bytes, the scale's and the
// zero's first byte; the bits of each code [token][channel][bit]; the place of each group's parameters [group][other].
#include <cstdio>
#include <vector>

#include "layout.cuh"

using namespace lowbit;

int main(int, char** names) {
  std::FILE* input = std::fopen(names[1], "rb");
  std::FILE* output = std::fopen(names[2], "wb");
  if (input == nullptr || output == nullptr) return 1;
  unsigned numbers[6];
  while (std::fread(numbers, 1, sizeof numbers, input) == sizeof numbers) {
    const PageLayout layout = {
      static_cast<Tensor>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2]),
      static_cast<Along>(numbers[3]), static_cast<int>(numbers[4]), numbers[5] != 0};
    std::vector<int> words = {layout.bytes(), layout.scaleByte(), layout.zeroByte()};
    for (int token = 0; token < PAGE_TOKENS; ++token) {
      for (int channel = 0; channel < layout.headDim; ++channel) {
        for (int bit = 0; bit < layout.bits; ++bit) words.push_back(layout.codeBit(token, channel, bit));
      }
    }
    const int others = layout.entries() / layout.groups();
    for (int group = 0; group < layout.groups(); ++group) {
      for (int other = 0; other < others; ++other) words.push_back(layout.parameterPlace(group, other));
    }
    if (std::fwrite(words.data(), 4, words.size(), output) != words.size()) return 2;
  }
  std::fclose(input);
  return std::fclose(output) == 0 ? 0 : 3;
}
