// Kernels as functions of the host: each runs all blocks of a launch, over memory whose device addresses are those of the host.
// kernels.inc lists the packing kernels of the instance table.
#include <memory>

#include "move.cuh"
#include "pack.cuh"

using namespace lowbit;

#define HOST_KERNEL(NAME) extern "C" void NAME##_host(const void* const* parameters, uint32_t x, uint32_t y, uint32_t z)

HOST_KERNEL(import_tensor) {
  const auto& job = *static_cast<const ImportJob*>(parameters[0]);
  for (uint32_t block = 0; block < x * y * z; ++block) importTensor(job, block, x);
}

HOST_KERNEL(write_rows) {
  for (uint32_t tensor = 0; tensor < z; ++tensor)
    for (uint32_t head = 0; head < y; ++head)
      for (uint32_t entry = 0; entry < x; ++entry) writeRows(*static_cast<const WriteJob*>(parameters[tensor]), entry, head);
}

template <typename Plan>
static void pack(const void* const* parameters, uint32_t headTiles, uint32_t packs) {
  const auto shared = std::make_unique<typename PackKernel<Plan>::Shared>();
  for (uint32_t number = 0; number < packs; ++number)
    for (uint32_t headTile = 0; headTile < headTiles; ++headTile)
      PackKernel<Plan>::runOnHost(*shared, *static_cast<const PackJob*>(parameters[0]), headTile, number);
}

/// And the shared memory and threads that the launch must give it.
#define PACK_KERNEL(NAME, ...)                                         \
  HOST_KERNEL(NAME) {                                                  \
    (void)z;                                                           \
    pack<PackPlan<__VA_ARGS__>>(parameters, x, y);                     \
  }                                                                    \
  extern "C" const uint32_t NAME##_shape[2] = {PackKernel<PackPlan<__VA_ARGS__>>::SHARED_BYTES, PackKernel<PackPlan<__VA_ARGS__>>::THREADS};

#include "kernels.inc"
