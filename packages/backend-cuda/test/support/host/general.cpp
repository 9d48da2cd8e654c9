// The general packing kernels as functions of the host: each runs all blocks of a launch, over memory whose device addresses are
// those of the host.
#include <cstdlib>
#include <vector>

#include "general-pack.cuh"

using namespace lowbit;

#define HOST_KERNEL(NAME) extern "C" void NAME##_host(const void* const* parameters, uint32_t x, uint32_t y, uint32_t z)

static const GeneralJob& jobOf(const void* const* parameters) {
  return *static_cast<const GeneralJob*>(parameters[0]);
}

/// Later blocks first: the order is nobody's to count on.
template <typename Block>
static void eachBlock(uint32_t x, uint32_t y, uint32_t z, Block block) {
  for (uint32_t k = z; k-- > 0;)
    for (uint32_t j = y; j-- > 0;)
      for (uint32_t i = x; i-- > 0;) block(i, j, k);
}

HOST_KERNEL(general_pack) {
  constexpr size_t BEHIND = 64;
  constexpr float UNTOUCHED = 1e30f;
  const GeneralJob& job = jobOf(parameters);
  const size_t words = job.scratch == nullptr ? job.tileWords : 0;
  BandsShared shared;
  eachBlock(x, y, z, [&](uint32_t i, uint32_t j, uint32_t k) {
    std::vector<float> tile(words + BEHIND, UNTOUCHED);
    packTile(job, shared, tile.data(), i, j, k);
    for (size_t word = words; word < tile.size(); ++word)
      if (tile[word] != UNTOUCHED) std::abort();
  });
}

HOST_KERNEL(general_outliers) {
  GeneralShared shared;
  eachBlock(x, y, z, [&](uint32_t i, uint32_t j, uint32_t) { writeOutliers(jobOf(parameters), shared, i, j); });
}

HOST_KERNEL(general_gather) {
  eachBlock(x, y, z, [&](uint32_t i, uint32_t j, uint32_t k) { gatherTile(jobOf(parameters), i, j, k); });
}

HOST_KERNEL(general_measure) {
  GeneralShared shared;
  eachBlock(x, y, z, [&](uint32_t i, uint32_t j, uint32_t) { measureHead(jobOf(parameters), shared, i, j); });
}
