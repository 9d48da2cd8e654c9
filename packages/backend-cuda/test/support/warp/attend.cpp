// Attention kernels as functions of the host, over memory whose device addresses are those of the host. kernels.inc lists them.
#include "cuda_fp16.h"

#include "bands.cuh"
#include "decode.cuh"
#include "rows.cuh"

namespace lowbit {
alignas(1024) uint8_t shared[host::SHARED_BYTES + host::GUARD_BYTES];
}

using namespace lowbit;

/// Later blocks first: the order is nobody's to count on.
template <class Body>
static void launch(int warps, uint32_t x, uint32_t y, uint32_t z, const Body& body) {
  host::blockThreads = warps * LANES;
  host::block.grid = {x, y, z};
  for (uint32_t share = z; share-- > 0;)
    for (uint32_t head = y; head-- > 0;)
      for (uint32_t item = x; item-- > 0;) {
        host::block.index = {item, head, share};
        if (host::block.failure == nullptr) host::runBlock(warps, body);
      }
}

/// What kernels have done since the last call that they may not do; null if nothing.
extern "C" const char* failure() {
  const char* what = host::block.failure;
  host::block.failure = nullptr;
  return what;
}

/// How lanes are run, and when copies happen.
extern "C" void weather(int isBackwards, int isEager) { host::block.weather = {isBackwards != 0, isEager != 0}; }

#define ATTEND(NAME, JOB, WARPS, ...)                                                                    \
  extern "C" void NAME##_host(const void* const* parameters, uint32_t x, uint32_t y, uint32_t z) {       \
    const JOB& job = *static_cast<const JOB*>(parameters[0]);                                            \
    launch(WARPS, x, y, z, [&] { __VA_ARGS__(job); });                                                    \
  }

#include "kernels.inc"
