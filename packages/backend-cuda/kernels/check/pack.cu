// Times the pack kernel on a card, prompts of 32K tokens x 8 heads, keys and values each in a launch of their own, and compares
// all bytes with the kernel's host side.
//
//   nvcc -std=c++17 -O3 -gencode=arch=compute_90,code=sm_90 -cudart static -Xcompiler -ffp-contract=off -o check-pack pack.cu
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "../pack.cuh"

using namespace lowbit;

constexpr uint32_t TOKENS = 32768;
constexpr uint32_t HEADS = 8;
constexpr uint32_t PAGES = TOKENS / PAGE_TOKENS;
constexpr int REPEATS = 25;
/// Copies of everything, more than the L2 cache holds.
constexpr int COPIES = 3;

static void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

/// One tensor of one prompt, on the card.
template <typename Plan>
struct Prompt {
  static constexpr PageLayout LAYOUT = Plan::LAYOUT;
  static constexpr size_t HEAD_BYTES = LAYOUT.bytes();
  static constexpr uint32_t HEAD_DIM = LAYOUT.headDim;
  static constexpr size_t ROW_BYTES = 2ull * HEADS * HEAD_DIM * TOKENS;
  static constexpr size_t PAGE_BYTES = HEAD_BYTES * HEADS * PAGES;

  unsigned char* rows = nullptr;
  unsigned char* statistics = nullptr;
  unsigned char* pages = nullptr;
  uint32_t* table = nullptr;

  explicit Prompt(const std::vector<uint16_t>& data) {
    CHECK(cudaMalloc(&rows, ROW_BYTES));
    CHECK(cudaMalloc(&pages, PAGE_BYTES));
    CHECK(cudaMemset(pages, 0xa5, PAGE_BYTES));
    CHECK(cudaMemcpy(rows, data.data(), ROW_BYTES, cudaMemcpyHostToDevice));
    const auto words = tableOf();
    const auto numbers = factors();
    CHECK(cudaMalloc(&statistics, 2 * numbers.size()));
    CHECK(cudaMemcpy(statistics, numbers.data(), 2 * numbers.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&table, 4 * words.size()));
    CHECK(cudaMemcpy(table, words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(packTiles<Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize, PackKernel<Plan>::SHARED_BYTES));
  }

  /// f16 bits from 2^-6 to 2^6, [head][channel].
  static std::vector<uint16_t> factors() {
    std::vector<uint16_t> numbers(HEADS * HEAD_DIM);
    for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(0x2400 + i * 977 % 0x3000);
    return numbers;
  }

  static std::vector<uint32_t> tableOf() {
    std::vector<uint32_t> words;
    const auto offset = [&](uint64_t bytes) {
      words.push_back(static_cast<uint32_t>(bytes));
      words.push_back(static_cast<uint32_t>(bytes >> 32));
    };
    for (uint32_t page = 0; page < PAGES; ++page) {
      // Pages in no order.
      offset(uint64_t{page} * 97 % PAGES * HEADS * HEAD_BYTES);
      words.insert(words.end(), {0, PAGE_TOKENS, PAGES * PACK_WORDS + page * SPAN_WORDS, 1, 0, 0});
    }
    for (uint32_t page = 0; page < PAGES; ++page) {
      words.insert(words.end(), {0, HEADS * HEAD_DIM});
      offset(2ull * page * PAGE_TOKENS * HEADS * HEAD_DIM);
      words.insert(words.end(), {HEAD_DIM, INPUT_ROWS});
    }
    return words;
  }

  void launch(cudaStream_t stream) const {
    const dim3 grid(HEADS * PackTile<Plan>::TILES, PAGES);
    packTiles<Plan><<<grid, PackKernel<Plan>::THREADS, PackKernel<Plan>::SHARED_BYTES, stream>>>(
      PackJob{table, HEAD_BYTES, pages, {rows, rows}, statistics});
    CHECK(cudaGetLastError());
  }

  size_t differences(const std::vector<uint16_t>& data) const;
};

template <typename Plan>
size_t Prompt<Plan>::differences(const std::vector<uint16_t>& data) const {
  std::vector<unsigned char> expected(PAGE_BYTES, 0xa5);
  std::vector<unsigned char> actual(PAGE_BYTES);
  const auto words = tableOf();
  const auto numbers = factors();
  const auto* tokens = reinterpret_cast<const unsigned char*>(data.data());
  const PackJob job{words.data(), HEAD_BYTES, expected.data(), {tokens, tokens}, reinterpret_cast<const unsigned char*>(numbers.data())};
  const uint32_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([=] {
      const auto shared = std::make_unique<typename PackKernel<Plan>::Shared>();
      for (uint32_t page = worker; page < PAGES; page += workers) {
        for (uint32_t tile = 0; tile < HEADS * PackTile<Plan>::TILES; ++tile) PackKernel<Plan>::runOnHost(*shared, job, tile, page);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(cudaMemcpy(actual.data(), pages, PAGE_BYTES, cudaMemcpyDeviceToHost));
  size_t count = 0;
  for (size_t i = 0; i < PAGE_BYTES; ++i) count += actual[i] != expected[i];
  return count;
}

/// f16 of nearly normal numbers; with corners, of 4096 elements some are ties or any bits.
static std::vector<uint16_t> drawRows(size_t count, bool corners, uint64_t seed) {
  uint64_t state = 0x9e3779b97f4a7c15ull * seed;
  std::vector<uint16_t> rows(count);
  for (auto& row : rows) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto any = static_cast<uint32_t>(state >> 20 & 0xfff);
    const uint64_t sum = (state & 0xffff) + (state >> 16 & 0xffff) + (state >> 32 & 0xffff) + (state >> 48);
    row = static_cast<uint16_t>(halfBits((static_cast<float>(sum) - 131070.0f) / 37837.0f));
    if (corners && any < 4) row = static_cast<uint16_t>(state >> 40);
    if (corners && any >= 4 && any < 12) row = static_cast<uint16_t>(halfBits(static_cast<float>(any) * 0.25f));
  }
  return rows;
}

template <typename KeyPlan, typename ValuePlan>
void measure(const char* name) {
  using Keys = Prompt<KeyPlan>;
  using Values = Prompt<ValuePlan>;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  {
    const auto data = drawRows(Keys::ROW_BYTES / 2, true, 1);
    const Keys keys(data);
    const Values values(data);
    keys.launch(stream);
    values.launch(stream);
    CHECK(cudaStreamSynchronize(stream));
    const size_t wrong[] = {keys.differences(data), values.differences(data)};
    if (wrong[0] + wrong[1] > 0) {
      std::printf("%-32s WRONG: %zu bytes of keys, %zu of values\n", name, wrong[0], wrong[1]);
      return;
    }
  }
  const auto data = drawRows(Keys::ROW_BYTES / 2, false, 2);
  std::vector<Keys> keys;
  std::vector<Values> values;
  for (int copy = 0; copy < COPIES; ++copy) {
    keys.emplace_back(data);
    values.emplace_back(data);
  }
  cudaEvent_t events[2];
  for (auto& event : events) CHECK(cudaEventCreate(&event));
  std::vector<float> times;
  for (int i = 0; i < REPEATS + 5; ++i) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int copy = 0; copy < COPIES; ++copy) {
      keys[copy].launch(stream);
      values[copy].launch(stream);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&replay, graph, 0));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(events[0], stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(events[1], stream));
    CHECK(cudaEventSynchronize(events[1]));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
    if (i >= 5) times.push_back(1000 * milliseconds / COPIES);
    CHECK(cudaGraphExecDestroy(replay));
    CHECK(cudaGraphDestroy(graph));
  }
  std::sort(times.begin(), times.end());
  const double bytes = Keys::ROW_BYTES + Values::ROW_BYTES + Keys::PAGE_BYTES + Values::PAGE_BYTES;
  const double median = times[times.size() / 2];
  std::printf("%-32s %7.1f us  (%.1f - %.1f)  %6.0f GB/s  bytes equal\n", name, median, times.front(), times.back(), bytes / median / 1000);
  for (const auto& prompt : keys) { CHECK(cudaFree(prompt.rows)); CHECK(cudaFree(prompt.pages)); CHECK(cudaFree(prompt.table)); CHECK(cudaFree(prompt.statistics)); }
  for (const auto& prompt : values) { CHECK(cudaFree(prompt.rows)); CHECK(cudaFree(prompt.pages)); CHECK(cudaFree(prompt.table)); CHECK(cudaFree(prompt.statistics)); }
  CHECK(cudaStreamDestroy(stream));
}

template <int BITS, int GROUP, int HEAD_DIM = 128>
void measureOuter(const char* name) {
  measure<
    PackPlan<Tensor::KEY, BITS, Along::TOKENS, GROUP, HEAD_DIM, Mode::ASYMMETRIC>,
    PackPlan<Tensor::VALUE, BITS, Along::CHANNELS, GROUP, HEAD_DIM, Mode::ASYMMETRIC>>(name);
}

template <int KEY_BITS, int VALUE_BITS, Mode VALUE_MODE, CodeSet CODES, bool FACTORS = false, int HEAD_DIM = 128>
void measureInner(const char* name) {
  measure<
    PackPlan<Tensor::KEY, KEY_BITS, Along::CHANNELS, 32, HEAD_DIM, Mode::SYMMETRIC, CODES, KEY_BITS, false, FACTORS>,
    PackPlan<Tensor::VALUE, VALUE_BITS, Along::TOKENS, 32, HEAD_DIM, VALUE_MODE, CODES>>(name);
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %u tokens x %u heads, keys and values\n", properties.name, TOKENS, HEADS);
  measureOuter<4, 128>("4 bit g128");
  measureOuter<4, 32>("4 bit g32");
  measureOuter<2, 128>("2 bit g128");
  measureOuter<2, 32>("2 bit g32");
  measureOuter<8, 128>("8 bit g128");
  measureOuter<4, 64, 64>("4 bit g64 d64");
  measureOuter<4, 128, 256>("4 bit g128 d256");
  measureInner<4, 4, Mode::SYMMETRIC, CodeSet::FULL>("4 bit symmetric, inner groups");
  measureInner<4, 4, Mode::SYMMETRIC, CodeSet::FULL_SIGNED>("4 bit fullSigned, inner groups");
  measureInner<2, 2, Mode::HYBRID, CodeSet::FULL>("2 bit values hybrid, inner");
  measureInner<3, 3, Mode::SYMMETRIC, CodeSet::FULL>("3 bit symmetric, inner groups");
  measureInner<3, 3, Mode::SYMMETRIC, CodeSet::FULL, true>("3 bit, keys with factors");
  measureInner<3, 2, Mode::SYMMETRIC, CodeSet::FULL_SIGNED, true>("3 and 2 bit fullSigned, factors");
  measureInner<3, 2, Mode::HYBRID, CodeSet::FULL, true>("3 and 2 bit hybrid, factors");
  measureInner<3, 3, Mode::SYMMETRIC, CodeSet::SIGNMAG, true, 64>("3 bit signmag d64, factors");
  return 0;
}
