// Runs launches of the pack kernel on the host: reads jobs from one file, and writes memory as they leave it to another.
//
// A job is little endian u32: a number of INSTANCES, head tiles, packs, bytes from head to head, bytes of memory, words of the
// table; then memory and the table. Everything in the table counts from the first byte of memory.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pack.cuh"

using namespace lowbit;

using Launch = void (*)(const PackJob&, uint32_t headTiles, uint32_t packs);

template <typename Plan>
void launch(const PackJob& job, uint32_t headTiles, uint32_t packs) {
  static typename PackKernel<Plan>::Shared shared;
  for (uint32_t pack = 0; pack < packs; ++pack) {
    for (uint32_t headTile = 0; headTile < headTiles; ++headTile) {
      PackKernel<Plan>::runOnHost(shared, job, headTile, pack);
    }
  }
}

#define INSTANCE(TENSOR, BITS, ALONG, GROUP, HEAD_DIM, MODE, CODES, ASYMMETRIC_BITS, TIE_ASYMMETRIC)             \
  &launch<PackPlan<Tensor::TENSOR, BITS, Along::ALONG, GROUP, HEAD_DIM, Mode::MODE, CodeSet::CODES, ASYMMETRIC_BITS, \
                   TIE_ASYMMETRIC>>,
const Launch INSTANCES[] = {
#include "instances.inc"
};

static void read(std::FILE* file, void* to, size_t bytes) {
  if (bytes > 0 && std::fread(to, 1, bytes, file) != bytes) std::exit(2);
}

int main(int, char** names) {
  std::FILE* input = std::fopen(names[1], "rb");
  std::FILE* output = std::fopen(names[2], "wb");
  if (input == nullptr || output == nullptr) return 1;
  uint32_t header[6];
  while (std::fread(header, 1, sizeof header, input) == sizeof header) {
    const auto [instance, headTiles, packs, headBytes, memoryBytes, tableWords] = header;
    std::vector<Chunk> memory(memoryBytes / sizeof(Chunk));
    std::vector<uint32_t> table(tableWords);
    read(input, memory.data(), memoryBytes);
    read(input, table.data(), 4 * table.size());
    auto* bytes = reinterpret_cast<unsigned char*>(memory.data());
    INSTANCES[instance](PackJob{table.data(), headBytes, bytes, {bytes, bytes}, nullptr}, headTiles, packs);
    if (std::fwrite(bytes, 1, memoryBytes, output) != memoryBytes) return 3;
  }
  std::fclose(input);
  return std::fclose(output) == 0 ? 0 : 4;
}
