// Blocks of a launch on the host: every lane has a stack of its own and runs until it meets the other lanes of its warp, or the other
// warps of its block. What kernels say in words that C++ has not is in cuda_fp16.h and mma.cuh beside this file.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace host {

constexpr int LANES = 32, MOST_WARPS = 16;
constexpr size_t STACK_BYTES = 256 * 1024;
/// Of a block, and behind it what nobody may write.
constexpr size_t SHARED_BYTES = 227 * 1024, GUARD_BYTES = 1024;
constexpr uint8_t GUARD = 0xa5;

struct Dimensions {
  unsigned x, y, z;
};

/// What the hardware leaves open.
struct Weather {
  /// Lanes and warps run from the last to the first.
  bool isBackwards = false;
  /// Copies happen when they are asked for, and not when they are waited for.
  bool isEager = false;
};

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  void run() const { std::memcpy(to, from, bytes); }
};

/// Of pages: one copy ends one phase.
struct Barrier {
  std::vector<Copy> copies;
  unsigned phases = 0;
};

struct Meeting {
  int arrived = 0;
  unsigned number = 0;
};

struct Lane {
  /// Where it begins, and where it has paused.
  ucontext_t start;
  jmp_buf paused;
  std::unique_ptr<char[]> stack;
  Dimensions thread;
  bool hasBegun, isDone;
  /// It runs on when this is no longer `met`; null where it waits for something else.
  const unsigned* awaited;
  unsigned met;
  std::vector<Copy> copies;
};

struct Warp {
  Meeting meeting;
  const char* what;
  const void* given[LANES];
  void* taken[LANES];
};

struct Block {
  std::vector<Lane> lanes;
  Warp warps[MOST_WARPS];
  Meeting meeting;
  int votes, vote;
  std::map<uint32_t, Barrier> barriers;
  jmp_buf scheduler;
  Lane* lane;
  Dimensions index, grid;
  Weather weather;
  bool hasMoved;
  std::function<void()> body;
  /// What a kernel may not do and has done; nothing runs afterwards.
  const char* failure = nullptr;
};

// Of one library: an inline variable would be that of all libraries of the process.
static Block block;

}  // namespace host

namespace lowbit {
/// Dynamic shared memory of the block that runs.
extern uint8_t shared[];
}  // namespace lowbit

namespace host {

inline unsigned laneNumber() { return block.lane->thread.x % LANES; }
inline Warp& warp() { return block.warps[block.lane->thread.x / LANES]; }

// Not swapcontext: it asks the kernel for the signal mask at every turn, which takes longer than what lanes do between them.
inline void pause() {
  if (_setjmp(block.lane->paused) == 0) _longjmp(block.scheduler, 1);
}

/// Runs a lane until it pauses. A frame of its own: nothing in it changes between the two returns of _setjmp.
[[gnu::noinline]] inline void resume(Lane& lane) {
  block.lane = &lane;
  if (_setjmp(block.scheduler) != 0) return;
  if (lane.hasBegun) _longjmp(lane.paused, 1);
  lane.hasBegun = true;
  setcontext(&lane.start);
}

[[noreturn]] inline void fail(const char* what) {
  block.failure = what;
  for (;;) pause();
}

/// Until `count` have come; the last one runs `last`.
template <class Last>
void meet(Meeting& meeting, int count, Last last) {
  block.hasMoved = true;
  if (++meeting.arrived == count) {
    last();
    meeting.arrived = 0;
    meeting.number++;
    return;
  }
  Lane& lane = *block.lane;
  lane.awaited = &meeting.number;
  lane.met = meeting.number;
  pause();
  lane.awaited = nullptr;
}

/// What all lanes of the warp do together: `all` reads what lanes give and writes what they take.
template <class Taken, class Given, class All>
Taken together(const char* what, const Given& given, All all) {
  Warp& own = warp();
  Taken taken{};
  if (own.meeting.arrived == 0) own.what = what;
  else if (own.what != what) fail("lanes of a warp have parted");
  own.given[laneNumber()] = &given;
  own.taken[laneNumber()] = &taken;
  meet(own.meeting, LANES, [&] {
    const Given* in[LANES];
    Taken* out[LANES];
    for (int i = 0; i < LANES; i++) in[i] = static_cast<const Given*>(own.given[i]), out[i] = static_cast<Taken*>(own.taken[i]);
    all(in, out);
  });
  return taken;
}

inline void runLane() {
  block.body();
  block.lane->isDone = true;
  block.hasMoved = true;
  pause();
}

/// Runs `body` as one block of `warps` warps.
inline void runBlock(int warps, const std::function<void()>& body) {
  const int count = warps * LANES;
  // NaN wherever nothing was written.
  std::memset(lowbit::shared, 0xff, SHARED_BYTES);
  std::memset(lowbit::shared + SHARED_BYTES, GUARD, GUARD_BYTES);
  block.body = body;
  block.barriers.clear();
  block.meeting = {};
  while (static_cast<int>(block.lanes.size()) < count) {
    block.lanes.emplace_back();
    block.lanes.back().stack = std::make_unique<char[]>(STACK_BYTES);
  }
  for (int i = 0; i < count; i++) {
    Lane& lane = block.lanes[i];
    lane.thread = {static_cast<unsigned>(i), 0, 0};
    lane.hasBegun = lane.isDone = false;
    lane.awaited = nullptr;
    lane.copies.clear();
    getcontext(&lane.start);
    lane.start.uc_stack.ss_sp = lane.stack.get();
    lane.start.uc_stack.ss_size = STACK_BYTES;
    lane.start.uc_link = nullptr;
    makecontext(&lane.start, runLane, 0);
  }
  for (int w = 0; w < warps; w++) block.warps[w].meeting = {};
  for (int left = count; left > 0;) {
    block.hasMoved = false;
    left = 0;
    for (int i = 0; i < count; i++) {
      Lane& lane = block.lanes[block.weather.isBackwards ? count - 1 - i : i];
      if (lane.isDone) continue;
      const bool isWaiting = lane.awaited != nullptr && *lane.awaited == lane.met;
      if (!isWaiting) resume(lane);
      if (block.failure != nullptr) return;
      left += !lane.isDone;
    }
    if (left > 0 && !block.hasMoved) {
      block.failure = "all lanes wait";
      return;
    }
  }
  for (int i = 0; i < count; i++)
    if (!block.lanes[i].copies.empty()) block.failure = "a copy is never waited for";
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if (lowbit::shared[SHARED_BYTES + i] != GUARD) block.failure = "shared memory is written behind its end";
}

}  // namespace host
