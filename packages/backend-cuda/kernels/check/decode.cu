// Decode on the card of this machine: worst relative error of any query head against float64 over the decoded codes, and
// times of whole pages at shuffled places in CUDA graphs.
//
//   nvcc -std=c++20 -O3 -arch=native -o check-decode decode.cu && ./check-decode [--no-times]
//
// Exits with 1 when an error is above its limit.
#include "../decode.cuh"
#include "pages.cuh"

constexpr int SPARE_ITEMS = 2;
constexpr int REST_TOKENS = 77;
constexpr int PACKED_RESTS = 40;
constexpr float LIMIT = 1e-3f;

enum class Data { NORMAL, SINKS };

template <PageLayout K, PageLayout V, int TILES, int WARPS, void (*KERNEL)(const DecodeJob)>
struct Runner {
  using D = Decode<K, V, TILES, WARPS>;
  static constexpr bool HAS_STATISTICS = K.along == Along::CHANNELS;

  /// `overlaps`: may start before the kernel in front of it ends.
  static void launch(const DecodeJob& job, int items, cudaStream_t stream = nullptr, bool overlaps = true) {
    const int chunks = (job.queryHeads + D::HEADS - 1) / D::HEADS;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = overlaps;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(items, job.kvHeads, chunks), config.blockDim = LANES * WARPS;
    config.dynamicSmemBytes = D::SHARED_BYTES, config.stream = stream;
    config.attrs = &attribute, config.numAttrs = overlaps ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, KERNEL, job));
  }

  /// Three sequences whose pages are in part filled, with tokens on no page behind them.
  static bool check(const char* name, Data data, int group) {
    // More than 32 pages a warp, which is how many entries one holds.
    const std::vector<int> pageCounts = {8, 1, 400};
    const int total = std::accumulate(pageCounts.begin(), pageCounts.end(), 0);
    const int batch = static_cast<int>(pageCounts.size());
    const Pool<K> keys(total);
    const Pool<V> values(total);
    std::vector<int> keyIds(total), valueIds(total);
    for (auto* ids : {&keyIds, &valueIds}) {
      std::iota(ids->begin(), ids->end(), 0);
      std::shuffle(ids->begin(), ids->end(), generator());
    }
    std::vector<PageEntry> pages;
    std::vector<RestEntry> rests;
    std::vector<std::vector<Token>> tokens(batch);
    std::vector<int> firstPages, firstRests;
    for (int b = 0; b < batch; b++) {
      firstPages.push_back(static_cast<int>(pages.size()));
      firstRests.push_back(static_cast<int>(rests.size()));
      int position = 5;
      for (int p = 0; p < pageCounts[b]; p++) {
        const int key = keyIds[pages.size()], value = valueIds[pages.size()];
        const int first = p % 3 == 1 ? static_cast<int>(below(PAGE_TOKENS)) : 0;
        const int count = p % 3 == 0 ? PAGE_TOKENS : 1 + static_cast<int>(below(PAGE_TOKENS - first));
        pages.push_back({key, value, position, first | count << 16});
        for (int i = 0; i < count; i++)
          tokens[b].push_back({unsigned(key * PAGE_TOKENS + first + i), unsigned(value * PAGE_TOKENS + first + i), position++});
        position += static_cast<int>(below(3));
      }
      for (int i = 0; i < REST_TOKENS; i++) {
        // Those with a packed side come first.
        const unsigned packed = below(PAGE_TOKENS * total), window = 1u << 30 | below(WINDOW_PAGES * WINDOW_TOKENS), input = 2u << 30 | below(INPUT_ROWS);
        const unsigned places[4][2] = {{window, packed}, {packed, input}, {window, window}, {input, input}};
        const unsigned* place = places[i % 2 + (i < PACKED_RESTS ? 0 : 2)];
        rests.push_back({place[0], place[1], position, 0});
        tokens[b].push_back({place[0], place[1], position++});
      }
    }
    const Statistics statistics(batch, K.headDim);
    const auto keyOf = [&](unsigned place, int sequence, int head, int channel) {
      return keys.at(place, head, channel) * (HAS_STATISTICS ? statistics.factor(place, sequence, head, channel) : 1.0f);
    };
    std::vector<__half> queries(size_t(batch) * KV_HEADS * group * K.headDim);
    for (size_t i = 0; i < queries.size(); i++) {
      queries[i] = __float2half_rn(normal());
      if (data != Data::SINKS) continue;
      // Along the key of the first token, which then takes most of the attention.
      const int row = static_cast<int>(i / K.headDim), b = row / (KV_HEADS * group);
      const float key = keyOf(tokens[b][0].key, b, row / group % KV_HEADS, static_cast<int>(i % K.headDim));
      queries[i] = __float2half_rn(0.7f * normal() + 0.7f * std::clamp(key, -2.0f, 2.0f));
    }

    DecodeJob job{};
    job.keys = upload(keys.pieces), job.values = upload(values.pieces);
    job.keyWindows = upload(keys.windows), job.valueWindows = upload(values.windows);
    job.keyInput = upload(keys.input), job.valueInput = upload(values.input);
    job.pageTable = upload(pages), job.restTable = upload(rests), job.queries = upload(queries), job.queryType = QueryType::F16;
    job.kvHeads = KV_HEADS, job.windowTokens = WINDOW_TOKENS, job.scale = LOG2E / std::sqrt(float(K.headDim));
    job.queryHeads = group;
    if (HAS_STATISTICS) job.keyStatistics = upload(statistics.reciprocals);
    const int rows = batch * KV_HEADS * group;
    job.output = allocate<float>(size_t(rows) * V.headDim), job.logSumExp = allocate<float>(rows);
    job.arrivals = allocate<unsigned>(batch * KV_HEADS * group);

    // Plain logits of every query row.
    std::vector<std::vector<double>> plain(rows);
    for (int row = 0; row < rows; row++) {
      const int head = row / group % KV_HEADS;
      for (const Token& token : tokens[row / (KV_HEADS * group)]) {
        double logit = 0;
        for (int c = 0; c < K.headDim; c++)
          logit += double(__half2float(queries[size_t(row) * K.headDim + c])) * keyOf(token.key, row / (KV_HEADS * group), head, c);
        plain[row].push_back(logit / std::sqrt(double(K.headDim)));
      }
    }

    struct Variant {
      int splits;
      float softCap;
    };
    double worst = 0, worstSum = 0, heaviest = 0;
    for (const Variant variant : {Variant{1, 0}, {2, 0}, {7, 0}, {3, 20}}) {
      std::vector<Item> items;
      for (int b = 0; b < batch; b++)
        for (int s = 0; s < variant.splits; s++) {
          const auto part = [&](int count) { return count * s / variant.splits; };
          const auto length = [&](int count) { return count * (s + 1) / variant.splits - part(count); };
          items.push_back({b, firstPages[b] + part(pageCounts[b]), length(pageCounts[b]), firstRests[b] + part(REST_TOKENS), length(REST_TOKENS),
                           std::clamp(PACKED_RESTS - part(REST_TOKENS), 0, length(REST_TOKENS)), s, variant.splits, b, -1});
        }
      const int grid = static_cast<int>(items.size()) + SPARE_ITEMS;
      job.items = upload(std::vector<int>{static_cast<int>(items.size())});
      items.resize(grid);
      job.itemTable = upload(items), job.partials = allocate<float>(size_t(grid) * KV_HEADS * group * (V.headDim + 2));
      job.softCap = variant.softCap * LOG2E;
      CHECK(cudaMemset(job.output, 0xff, size_t(rows) * V.headDim * 4));
      CHECK(cudaMemset(job.logSumExp, 0xff, rows * 4));
      launch(job, grid);
      CHECK(cudaDeviceSynchronize());
      const auto output = download(job.output, size_t(rows) * V.headDim);
      const auto sums = download(job.logSumExp, rows);
      for (int row = 0; row < rows; row++) {
        const int b = row / (KV_HEADS * group), head = row / group % KV_HEADS;
        std::vector<double> weights, expected(V.headDim, 0.0);
        double largest = -INFINITY, sum = 0, error = 0, size = 0;
        for (size_t i = 0; i < tokens[b].size(); i++) {
          double logit = plain[row][i];
          if (variant.softCap > 0) logit = variant.softCap * std::tanh(logit / variant.softCap);
          weights.push_back(logit);
          largest = std::max(largest, logit);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (size_t i = 0; i < weights.size(); i++) {
          heaviest = std::max(heaviest, weights[i] / sum);
          if (weights[i] > 0)
            for (int c = 0; c < V.headDim; c++) expected[c] += weights[i] / sum * values.at(tokens[b][i].value, head, c);
        }
        for (int c = 0; c < V.headDim; c++) {
          const double difference = output[size_t(row) * V.headDim + c] - expected[c];
          error += difference * difference, size += expected[c] * expected[c];
        }
        // NaN is the worst of all.
        const double relative = std::sqrt(error / size), sumError = std::fabs(sums[row] - (largest + std::log(sum)));
        worst = relative <= 1e30 ? std::max(worst, relative) : INFINITY;
        worstSum = sumError <= 1e30 ? std::max(worstSum, sumError) : INFINITY;
      }
    }
    const bool isRight = worst <= LIMIT && worstSum <= LIMIT;
    std::printf("%-22s %2d heads %-6s error %.1e, log-sum-exp %.1e, largest weight %.2f%s\n", name, group, data == Data::SINKS ? "sinks" : "normal", worst, worstSum,
                heaviest, isRight ? "" : "  ABOVE THE LIMIT");
    return isRight;
  }

  /// With the newest 128 values of each sequence in windows, as those of groups along channels are, but for `isWhole`.
  static void time(const char* name, int group, int kvHeads, int batch, int tokens, int splits, int copies, bool isWhole = true, bool overlaps = true) {
    const size_t pages = size_t(tokens) / PAGE_TOKENS * batch, all = pages * copies;
    DecodeJob job{};
    uint8_t *keys = randomPages<K>(all, kvHeads), *values = randomPages<V>(all, kvHeads);
    job.keys = keys, job.values = values;
    std::vector<int> order(all);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator());
    std::vector<PageEntry> table;
    std::vector<Item> items;
    std::vector<RestEntry> rests;
    const int stride = tokens / PAGE_TOKENS;
    for (int c = 0; c < copies; c++)
      for (int b = 0; b < batch; b++) {
        const int first = static_cast<int>(table.size());
        for (int p = 0; p < stride; p++) table.push_back({order[table.size()], order[all - 1 - table.size()], p * PAGE_TOKENS, PAGE_TOKENS << 16});
        // As the work list shares them.
        const int pages = stride - (isWhole ? 0 : 1), runs = isWhole ? 0 : PAGE_TOKENS / 16;
        const int firstRest = static_cast<int>(rests.size());
        for (int i = 0; i < 16 * runs; i++)
          rests.push_back({unsigned(table.back().key * PAGE_TOKENS + i), 1u << 30 | unsigned((c * batch + b) * PAGE_TOKENS + i), 0, 0});
        const auto pageEnd = [&](int s) { return (s * pages + splits - 1) / splits; };
        const auto restEnd = [&](int s) { return 16 * (s * runs / splits); };
        for (int s = 0; s < splits; s++) {
          const int some = restEnd(s + 1) - restEnd(s);
          items.push_back({b, first + pageEnd(s), pageEnd(s + 1) - pageEnd(s), firstRest + restEnd(s), some, some, s, splits, -1, -1});
        }
      }
    rests.push_back({});
    std::vector<__half> windows(size_t(copies) * batch * PAGE_TOKENS * kvHeads * V.headDim);
    for (__half& value : windows) value = __float2half_rn(normal());
    std::vector<__half> queries(size_t(batch) * kvHeads * group * K.headDim);
    for (__half& value : queries) value = __float2half_rn(normal());
    const int count = splits * batch;
    const Item* itemTable = upload(items);
    job.pageTable = upload(table), job.queries = upload(queries), job.queryType = QueryType::F16, job.items = upload(std::vector<int>{count});
    job.restTable = upload(rests), job.valueWindows = upload(windows);
    job.kvHeads = kvHeads, job.queryHeads = group, job.windowTokens = WINDOW_TOKENS, job.scale = LOG2E / std::sqrt(float(K.headDim));
    job.partials = allocate<float>(size_t(count) * kvHeads * group * (V.headDim + 2)), job.output = allocate<float>(size_t(batch) * kvHeads * group * V.headDim);
    job.arrivals = allocate<unsigned>(batch * kvHeads * group);

    const auto [burst, sustained] = timesOf(copies, [&](int copy, cudaStream_t stream) {
      job.itemTable = itemTable + size_t(copy) * count;
      launch(job, count, stream, overlaps);
    });
    const double bytes = double(pages) * kvHeads * (K.bytes() + V.bytes());
    // Launches that overlap leave what one alone does.
    const size_t outputs = size_t(batch) * kvHeads * group * V.headDim;
    const auto left = download(job.output, outputs);
    CHECK(cudaMemset(job.output, 0xff, 4 * outputs));
    launch(job, count, nullptr, false);
    CHECK(cudaDeviceSynchronize());
    const auto alone = download(job.output, outputs);
    const bool isSame = std::memcmp(left.data(), alone.data(), 4 * outputs) == 0;
    std::printf("%-22s %2d x %2d heads, batch %d, %3dK tokens%s%s: %6.1f us, sustained %6.1f, floor at 4.48 TB/s %6.1f, %4.0f GB/s%s\n", name, kvHeads,
                group, batch, tokens / 1024, isWhole ? "" : ", windows", overlaps ? "" : ", one after another", burst, sustained,
                bytes / 4.48e6, bytes / burst / 1000, isSame ? "" : "  DIFFERS");
    for (void* memory : {(void*)keys, (void*)values}) CHECK(cudaFree(memory));
  }

  /// Numbers of query heads that are checked; the first is the one that is timed.
  static bool run(const char* name, bool withTimes, const std::vector<int>& groups) {
    CHECK(cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, D::SHARED_BYTES));
    bool isRight = true;
    for (const int group : groups) isRight &= check(name, Data::NORMAL, group) & check(name, Data::SINKS, group);
    if (withTimes) {
      const int group = groups[0];
      time(name, group, 8, 8, 131072, 2, 1), time(name, group, 8, 1, 131072, 16, 2), time(name, group, 8, 1, 8192, 16, 32);
      time(name, group, 8, 8, 131072, 2, 1, false), time(name, group, 8, 1, 131072, 16, 2, false), time(name, group, 8, 1, 8192, 16, 32, false);
      time(name, group, 8, 1, 131072, 16, 2, false, false), time(name, group, 8, 1, 8192, 16, 32, false, false);
      if (groups[0] == 4 && K.bits == 4 && K.groupSize == 128) time(name, 1, 32, 8, 131072, 1, 1);
      // Blocks that share the query heads of a kv head read the same pages.
      if (groups.back() > D::HEADS) time(name, groups.back(), 8, 8, 131072, 1, 1);
    }
    std::fflush(stdout);
    return isRight;
  }
};

// Name, keys, values, tiles of query heads, warps, numbers of query heads.
#define KERNELS(X)                                                                                                 \
  X(affine4g128, keys(4, TOKENS, 128, true), values(4, CHANNELS, 128, true), 1, 8, {4, 1, 3, 8})                   \
  X(affine4g32, keys(4, TOKENS, 32, true), values(4, CHANNELS, 32, true), 1, 8, {4, 8})                            \
  X(affine2g128, keys(2, TOKENS, 128, true), values(2, CHANNELS, 128, true), 1, 12, {4, 8})                           \
  X(affine2g32, keys(2, TOKENS, 32, true), values(2, CHANNELS, 32, true), 1, 12, {4, 8})                              \
  X(affine4g128wide, keys(4, TOKENS, 128, true), values(4, CHANNELS, 128, true), 2, 8, {8, 5, 7, 16})              \
  X(affine4g32wide, keys(4, TOKENS, 32, true), values(4, CHANNELS, 32, true), 2, 8, {8, 6})                        \
  X(affine2g128wide, keys(2, TOKENS, 128, true), values(2, CHANNELS, 128, true), 2, 8, {8})                        \
  X(affine2g32wide, keys(2, TOKENS, 32, true), values(2, CHANNELS, 32, true), 2, 8, {8})                           \
  X(affine8g128, keys(8, TOKENS, 128, true), values(8, CHANNELS, 128, true), 1, 6, {4})                            \
  X(symmetric4g32, keys(4, TOKENS, 32, false), values(4, CHANNELS, 32, false), 1, 8, {4})                          \
  X(symmetric8head, keys(8, CHANNELS, 128, false), values(8, CHANNELS, 128, false), 1, 6, {4})                     \
  X(inner33, keys(3, CHANNELS, 32, false), values(3, TOKENS, 32, false), 1, 8, {4, 8})                             \
  X(inner33twelve, keys(3, CHANNELS, 32, false), values(3, TOKENS, 32, false), 1, 12, {4})                         \
  X(inner33wide, keys(3, CHANNELS, 32, false), values(3, TOKENS, 32, false), 2, 8, {8})                            \
  X(inner32, keys(3, CHANNELS, 32, false), values(2, TOKENS, 32, false), 1, 8, {4})                                \
  X(inner32twelve, keys(3, CHANNELS, 32, false), values(2, TOKENS, 32, false), 1, 12, {4})                         \
  X(inner32hybrid, keys(3, CHANNELS, 32, false), values(2, TOKENS, 32, true, 128, true), 1, 8, {4})                \
  X(inner32hybridtwelve, keys(3, CHANNELS, 32, false), values(2, TOKENS, 32, true, 128, true), 1, 12, {4})         \
  X(inner33dim64, keys(3, CHANNELS, 32, false, 64), values(3, TOKENS, 32, false, 64), 1, 8, {4})                   \
  X(inner44, keys(4, CHANNELS, 32, false), values(4, TOKENS, 32, false), 1, 8, {4})                                \
  X(inner44wide, keys(4, CHANNELS, 32, false), values(4, TOKENS, 32, false), 2, 8, {8})                            \
  X(inner22, keys(2, CHANNELS, 32, false), values(2, TOKENS, 32, false), 1, 12, {4})                               \
  X(affine4inner, keys(4, CHANNELS, 32, true), values(4, TOKENS, 32, true), 1, 8, {4})                             \
  X(affine4tokens, keys(4, CHANNELS, 128, true), values(4, CHANNELS, 128, true), 1, 8, {4})                        \
  X(affine2tokens32, keys(2, CHANNELS, 32, true), values(2, CHANNELS, 32, true), 1, 12, {4})                       \
  X(affine4g32dim64, keys(4, TOKENS, 32, true, 64), values(4, CHANNELS, 32, true, 64), 1, 8, {4})                  \
  X(affine4g32dim96, keys(4, TOKENS, 32, true, 96), values(4, CHANNELS, 32, true, 96), 1, 8, {4, 3})               \
  X(affine4g128dim256, keys(4, TOKENS, 128, true, 256), values(4, CHANNELS, 128, true, 256), 1, 4, {4, 2})

#define DEFINE(name, K, V, TILES, WARPS, ...)                                                                                \
  extern "C" __global__ void __launch_bounds__(LANES * WARPS, 1) name(const __grid_constant__ DecodeJob job) {              \
    decode<K, V, TILES, WARPS>(job);                                                                                        \
  }
KERNELS(DEFINE)

int main(int count, char** arguments) {
  const bool withTimes = count < 2 || std::strcmp(arguments[1], "--no-times") != 0;
  bool isRight = true;
#define RUN(name, K, V, TILES, WARPS, ...) isRight &= Runner<K, V, TILES, WARPS, name>::run(#name, withTimes, __VA_ARGS__);
  KERNELS(RUN)
  return isRight ? 0 : 1;
}
