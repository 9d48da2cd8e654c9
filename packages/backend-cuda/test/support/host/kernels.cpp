// Kernels as functions of the host: each runs all blocks of a launch, over memory whose device addresses are those of the host.
// kernels.inc lists ways to pack, and kernels that append.
#include <memory>

#include "append.cuh"

using namespace lowbit;

#define HOST_KERNEL(NAME) extern "C" void NAME##_host(const void* const* parameters, uint32_t x, uint32_t y, uint32_t z)

HOST_KERNEL(import_tensor) {
  const auto& job = *static_cast<const ImportJob*>(parameters[0]);
  for (uint32_t block = 0; block < x * y * z; ++block) importTensor(job, block, x);
}

HOST_KERNEL(write_rows) {
  for (uint32_t tensor = 0; tensor < z; ++tensor)
    for (uint32_t head = 0; head < y; ++head)
      for (uint32_t entry = 0; entry < x; ++entry) writeRows<MOVE_THREADS>(*static_cast<const WriteJob*>(parameters[tensor]), entry, head);
}

using PackBlock = void (*)(const PackJob& job, uint32_t headTile, uint32_t number);

template <typename Plan>
static void pack(const PackJob& job, uint32_t headTile, uint32_t number) {
  const auto shared = std::make_unique<typename PackKernel<Plan>::Shared>();
  PackKernel<Plan>::runOnHost(*shared, job, headTile, number);
}

static void packNothing(const PackJob&, uint32_t, uint32_t) {}

static void append(const void* const* parameters, uint32_t blocks, PackBlock packKeys, PackBlock packValues) {
  const auto& keys = *static_cast<const AppendJob*>(parameters[0]);
  const auto& values = *static_cast<const AppendJob*>(parameters[1]);
  for (uint32_t block = 0; block < blocks; ++block) {
    appendBlock<256>(
      keys, values, block, [&](uint32_t headTile, uint32_t number) { packKeys(keys.pack, headTile, number); },
      [&](uint32_t headTile, uint32_t number) { packValues(values.pack, headTile, number); });
  }
}

/// The function, and the shared memory and threads that a launch must give.
#define PACK(NAME, ...)                                                \
  static constexpr PackBlock NAME##_pack = pack<PackPlan<__VA_ARGS__>>; \
  extern "C" const uint32_t NAME##_shape[2] = {PackKernel<PackPlan<__VA_ARGS__>>::SHARED_BYTES, PackKernel<PackPlan<__VA_ARGS__>>::THREADS};

#define APPEND(NAME, KEYS, VALUES)                        \
  HOST_KERNEL(NAME) {                                     \
    (void)y, (void)z;                                     \
    append(parameters, x, KEYS##_pack, VALUES##_pack);    \
  }

/// Kernels that write and look at rows, and pack none.
#define APPEND_UNPACKED(NAME)                             \
  HOST_KERNEL(NAME) {                                     \
    (void)y, (void)z;                                     \
    append(parameters, x, packNothing, packNothing);      \
  }

#include "kernels.inc"
