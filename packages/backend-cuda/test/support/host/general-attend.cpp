// Attention over any plan as a function of the host: runs all blocks of a launch, the last one first, since no order is promised.
#include <cstdlib>
#include <vector>

#include "general-attend.cuh"

using namespace lowbit;

extern "C" void general_attend_host(const void* const* parameters, uint32_t x, uint32_t y, uint32_t z) {
  const auto& job = *static_cast<const DecodeJob*>(parameters[0]);
  const auto& plan = *static_cast<const GeneralAttention*>(parameters[1]);
  // Around it, what nobody may write.
  constexpr float GUARD = 12345.0f;
  constexpr size_t GUARDS = 64;
  const size_t quads = plan.sharedBytes / sizeof(Quad);
  std::vector<Quad> shared(quads + 2 * GUARDS);
  const auto isGuard = [&](size_t place) { return place < GUARDS || place >= GUARDS + quads; };
  for (size_t place = 0; place < shared.size(); ++place)
    if (isGuard(place)) shared[place].lanes[0] = GUARD;
  for (uint32_t headBlock = z; headBlock-- > 0;)
    for (uint32_t head = y; head-- > 0;)
      for (uint32_t item = x; item-- > 0;) generalAttend(job, plan, item, head, headBlock, z, shared[GUARDS].lanes);
  for (size_t place = 0; place < shared.size(); ++place)
    if (isGuard(place) && shared[place].lanes[0] != GUARD) std::abort();
}
