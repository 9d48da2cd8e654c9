// Attention of several query tokens on the card of this machine: relative errors of rows against float64 over the decoded codes, and
// times of as many tokens of each sequence as a block takes, over whole pages at shuffled places, in CUDA graphs.
//
//   nvcc -std=c++20 -O3 -arch=native -o check-rows rows.cu && ./check-rows [--no-times]
//
// Exits with 1 when an error is above its limit.
#include "../rows.cuh"
#include "pages.cuh"

constexpr int SPARE_ITEMS = 2;

/// Of the root of the squares of all errors, and of any row.
constexpr float LIMIT = 1e-3f, ROW_LIMIT = 3e-3f;

/// Of quiet rows all tokens take about the same attention, so that little is left of large sums.
enum class Data { NORMAL, SINKS, QUIET };

/// A sequence: packed pages, tokens on no page behind them, query tokens, which are the last of its tokens.
struct Shape {
  int pages, packedRests, rests, queries;
};

/// Query tokens that an item meets.
struct Block {
  int sequence, firstRow, position, queries;
};

/// Rows whose logits are so far apart that few tokens take most of the attention.
bool isLoud(int row) { return row % 7 == 1; }

template <PageLayout K, PageLayout V, int TILES, int WARPS, void (*KERNEL)(const DecodeJob)>
struct Runner {
  using R = Rows<K, V, TILES, WARPS>;
  static constexpr bool HAS_STATISTICS = K.along == Along::CHANNELS;

  static void launch(const DecodeJob& job, int items, cudaStream_t stream = nullptr) {
    KERNEL<<<dim3(items, job.kvHeads), LANES * WARPS, R::SHARED_BYTES, stream>>>(job);
    CHECK(cudaGetLastError());
  }

  /// Pages are in part filled. Query tokens are in windows and input, on the last pages, on both, or all that there is.
  static bool check(const char* name, Data data, int group) {
    const int most = R::ROWS / group;
    const bool isLong = data == Data::QUIET;
    std::vector<Shape> shapes = {{9, 40, 77, 2 * most + 1}, {1, 0, 0, most}, {70, 30, 61, most - most / 3}, {0, 0, 5, 5}, {3, 2, 3, 9}};
    if (isLong) shapes = {{1024, 0, 0, 1}};
    int total = 0, rowCount = 0;
    for (const Shape& shape : shapes) total += shape.pages, rowCount += shape.queries;
    const int batch = static_cast<int>(shapes.size());
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
    std::vector<int> firstPages, firstRests, positions;
    std::vector<Block> blocks;
    for (int b = 0; b < batch; b++) {
      const Shape& shape = shapes[b];
      firstPages.push_back(static_cast<int>(pages.size()));
      firstRests.push_back(static_cast<int>(rests.size()));
      int position = 5;
      for (int p = 0; p < shape.pages; p++) {
        const int key = keyIds[pages.size()], value = valueIds[pages.size()];
        const int first = p % 3 == 1 && !isLong ? static_cast<int>(below(PAGE_TOKENS)) : 0;
        const int count = p % 3 == 0 || isLong ? PAGE_TOKENS : 1 + static_cast<int>(below(PAGE_TOKENS - first));
        pages.push_back({key, value, position, first | count << 16});
        for (int i = 0; i < count; i++)
          tokens[b].push_back({unsigned(key * PAGE_TOKENS + first + i), unsigned(value * PAGE_TOKENS + first + i), position++});
        position += static_cast<int>(below(3));
      }
      for (int i = 0; i < shape.rests; i++) {
        // Those with a packed side come first.
        const unsigned packed = below(PAGE_TOKENS * total), window = 1u << 30 | below(WINDOW_PAGES * WINDOW_TOKENS), input = 2u << 30 | below(INPUT_ROWS);
        const unsigned places[4][2] = {{window, packed}, {packed, input}, {window, window}, {input, input}};
        const unsigned* place = places[i % 2 + (i < shape.packedRests ? 0 : 2)];
        rests.push_back({place[0], place[1], position, 0});
        tokens[b].push_back({place[0], place[1], position++});
      }
      const int last = tokens[b].back().position;
      for (int done = 0; done < shape.queries; done += most) {
        const int count = std::min(most, shape.queries - done);
        blocks.push_back({b, static_cast<int>(positions.size()), last + 1 - shape.queries + done, count});
        for (int i = 0; i < count; i++) positions.push_back(blocks.back().position + i);
      }
    }
    const Statistics statistics(batch, K.headDim);
    const auto keyOf = [&](unsigned place, int sequence, int head, int channel) {
      return keys.at(place, head, channel) * (HAS_STATISTICS ? statistics.factor(place, sequence, head, channel) : 1.0f);
    };
    const int rows = rowCount * KV_HEADS * group;
    std::vector<int> sequenceOf(rowCount);
    for (const Block& block : blocks)
      for (int i = 0; i < block.queries; i++) sequenceOf[block.firstRow + i] = block.sequence;
    std::vector<__half> queries(size_t(rows) * K.headDim);
    for (size_t i = 0; i < queries.size(); i++) {
      const int row = static_cast<int>(i / K.headDim), b = sequenceOf[row / (KV_HEADS * group)];
      const float size = row % 7 == 0 ? 0.01f : isLong ? 0.2f : isLoud(row) ? 2.5f : 1.0f;
      queries[i] = __float2half_rn(size * normal());
      if (data != Data::SINKS) continue;
      // Along the key of the first token, which then takes most of the attention.
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
    job.output = allocate<float>(size_t(rows) * V.headDim), job.logSumExp = allocate<float>(rows);
    job.arrivals = allocate<unsigned>(rowCount * KV_HEADS);

    // Plain logits of every row over what it sees, and values of those tokens.
    std::vector<std::vector<double>> plain(rows);
    std::vector<float> key(K.headDim);
    for (int b = 0; b < batch; b++)
      for (int head = 0; head < KV_HEADS; head++)
        for (const Token& token : tokens[b]) {
          for (int c = 0; c < K.headDim; c++) key[c] = keyOf(token.key, b, head, c);
          for (int row = 0; row < rows; row++) {
            const int query = row / (KV_HEADS * group);
            if (sequenceOf[query] != b || row / group % KV_HEADS != head || token.position > positions[query]) continue;
            double logit = 0;
            for (int c = 0; c < K.headDim; c++) logit += double(__half2float(queries[size_t(row) * K.headDim + c])) * key[c];
            plain[row].push_back(logit / std::sqrt(double(K.headDim)));
          }
        }

    struct Variant {
      int splits;
      float softCap;
    };
    int runs = 0;
    double worst = 0, worstLoud = 0, worstSum = 0, heaviest = 0, squares = 0;
    for (const Variant variant : isLong ? std::vector<Variant>{{1, 0}} : std::vector<Variant>{{1, 0}, {2, 0}, {5, 0}, {3, 20}}) {
      runs++;
      std::vector<Item> items;
      for (const Block& block : blocks) {
        const Shape& shape = shapes[block.sequence];
        for (int s = 0; s < variant.splits; s++) {
          const auto part = [&](int count) { return count * s / variant.splits; };
          const auto length = [&](int count) { return count * (s + 1) / variant.splits - part(count); };
          items.push_back({block.firstRow, firstPages[block.sequence] + part(shape.pages), length(shape.pages),
                           firstRests[block.sequence] + part(shape.rests), length(shape.rests),
                           std::clamp(shape.packedRests - part(shape.rests), 0, length(shape.rests)), s, variant.splits, block.sequence, -1,
                           block.position, block.queries});
        }
      }
      const int grid = static_cast<int>(items.size()) + SPARE_ITEMS;
      job.items = upload(std::vector<int>{static_cast<int>(items.size())});
      items.resize(grid);
      job.itemTable = upload(items), job.partials = allocate<float>(size_t(grid) * KV_HEADS * R::ROWS * R::PARTIAL);
      job.softCap = variant.softCap * LOG2E;
      CHECK(cudaMemset(job.output, 0xff, size_t(rows) * V.headDim * 4));
      CHECK(cudaMemset(job.logSumExp, 0xff, rows * 4));
      launch(job, grid);
      CHECK(cudaDeviceSynchronize());
      const auto output = download(job.output, size_t(rows) * V.headDim);
      const auto sums = download(job.logSumExp, rows);
      for (int row = 0; row < rows; row++) {
        const int query = row / (KV_HEADS * group), b = sequenceOf[query], head = row / group % KV_HEADS;
        std::vector<double> weights = plain[row], expected(V.headDim, 0.0);
        double largest = -INFINITY, sum = 0, error = 0, size = 0;
        for (double& logit : weights) {
          if (variant.softCap > 0) logit = variant.softCap * std::tanh(logit / variant.softCap);
          largest = std::max(largest, logit);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (size_t i = 0; i < weights.size(); i++) {
          heaviest = std::max(heaviest, weights[i] / sum);
          if (weights[i] > 1e-12)
            for (int c = 0; c < V.headDim; c++) expected[c] += weights[i] / sum * values.at(tokens[b][i].value, head, c);
        }
        for (int c = 0; c < V.headDim; c++) {
          const double difference = output[size_t(row) * V.headDim + c] - expected[c];
          error += difference * difference, size += expected[c] * expected[c];
        }
        // NaN is the worst of all.
        const double relative = std::sqrt(error / size), sumError = std::fabs(sums[row] - (largest + std::log(sum)));
        double& own = data == Data::NORMAL && isLoud(row) ? worstLoud : worst;
        own = relative <= 1e30 ? std::max(own, relative) : INFINITY;
        worstSum = sumError <= 1e30 ? std::max(worstSum, sumError) : INFINITY;
        squares += relative * relative / rows;
      }
    }
    squares /= runs;
    const bool isRight = std::sqrt(squares) <= LIMIT && std::max({worst, worstLoud, worstSum}) <= ROW_LIMIT;
    std::printf("%-16s %2d heads %-6s error %.1e at worst, %.1e of loud rows, %.1e root of squares, log-sum-exp %.1e, largest weight %.2f%s\n", name, group,
                isLong ? "quiet" : data == Data::SINKS ? "sinks" : "normal", worst, worstLoud, std::sqrt(squares), worstSum, heaviest, isRight ? "" : "  ABOVE THE LIMIT");
    return isRight;
  }

  static void time(const char* name, int group, int queries, int kvHeads, int batch, int tokens, int splits, int copies) {
    const size_t pages = size_t(tokens) / PAGE_TOKENS * batch, all = pages * copies;
    DecodeJob job{};
    uint8_t *keys = randomPages<K>(all, kvHeads), *values = randomPages<V>(all, kvHeads);
    job.keys = keys, job.values = values;
    std::vector<int> order(all);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator());
    std::vector<PageEntry> table;
    std::vector<Item> items;
    const int stride = tokens / PAGE_TOKENS;
    for (int c = 0; c < copies; c++)
      for (int b = 0; b < batch; b++) {
        const int first = static_cast<int>(table.size());
        for (int p = 0; p < stride; p++) table.push_back({order[table.size()], order[all - 1 - table.size()], p * PAGE_TOKENS, PAGE_TOKENS << 16});
        for (int s = 0; s < splits; s++)
          items.push_back({b * queries, first + stride * s / splits, stride * (s + 1) / splits - stride * s / splits, 0, 0, 0, s, splits, -1, -1,
                           tokens, queries});
      }
    std::vector<__half> rows(size_t(batch) * queries * kvHeads * group * K.headDim);
    for (__half& value : rows) value = __float2half_rn(normal());
    const int count = splits * batch;
    const Item* itemTable = upload(items);
    job.pageTable = upload(table), job.queries = upload(rows), job.queryType = QueryType::F16, job.items = upload(std::vector<int>{count});
    job.kvHeads = kvHeads, job.queryHeads = group, job.windowTokens = WINDOW_TOKENS, job.scale = LOG2E / std::sqrt(float(K.headDim));
    job.partials = allocate<float>(size_t(count) * kvHeads * R::ROWS * R::PARTIAL);
    job.output = allocate<float>(rows.size()), job.arrivals = allocate<unsigned>(batch * queries * kvHeads);
    const auto [burst, sustained] = timesOf(copies, [&](int copy, cudaStream_t stream) {
      job.itemTable = itemTable + size_t(copy) * count;
      launch(job, count, stream);
    });
    const double bytes = double(pages) * kvHeads * (K.bytes() + V.bytes());
    std::printf("%-16s %2d x %2d heads, %d query tokens, batch %d, %3dK tokens: %6.1f us, sustained %6.1f, floor at 4.48 TB/s %6.1f\n", name,
                kvHeads, group, queries, batch, tokens / 1024, burst, sustained, bytes / 4.48e6);
    for (void* memory : {(void*)keys, (void*)values}) CHECK(cudaFree(memory));
  }

  /// Numbers of query heads that are checked; the first is the one that is timed.
  static bool run(const char* name, bool withTimes, const std::vector<int>& groups) {
    CHECK(cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, R::SHARED_BYTES));
    bool isRight = true;
    for (const int group : groups) isRight &= check(name, Data::NORMAL, group) & check(name, Data::SINKS, group);
    isRight &= check(name, Data::QUIET, groups[0]);
    if (withTimes) {
      const int queries = R::ROWS / groups[0];
      time(name, groups[0], queries, 8, 8, 131072, 2, 1), time(name, groups[0], queries, 8, 1, 131072, 16, 1);
      time(name, groups[0], queries, 8, 1, 8192, 16, 8);
    }
    std::fflush(stdout);
    return isRight;
  }
};

// Name, keys, values, tiles of 16 rows, warps, numbers of query heads.
#define KERNELS(X)                                                                                           \
  X(affine4g128, keys(4, TOKENS, 128, true), values(4, CHANNELS, 128, true), 2, 8, {4, 1, 3, 8, 16})         \
  X(affine4g64, keys(4, TOKENS, 64, true), values(4, CHANNELS, 64, true), 2, 8, {4})                         \
  X(affine4g32, keys(4, TOKENS, 32, true), values(4, CHANNELS, 32, true), 2, 8, {4, 5})                      \
  X(affine2g128, keys(2, TOKENS, 128, true), values(2, CHANNELS, 128, true), 2, 8, {4})                      \
  X(affine2g64, keys(2, TOKENS, 64, true), values(2, CHANNELS, 64, true), 2, 8, {4})                         \
  X(affine2g32, keys(2, TOKENS, 32, true), values(2, CHANNELS, 32, true), 2, 8, {4, 2})                      \
  X(symmetric4g32, keys(4, TOKENS, 32, false), values(4, CHANNELS, 32, false), 2, 8, {4})                    \
  X(affine4g128few, keys(4, TOKENS, 128, true), values(4, CHANNELS, 128, true), 1, 12, {4, 1, 7})            \
  X(affine4g32few, keys(4, TOKENS, 32, true), values(4, CHANNELS, 32, true), 1, 11, {4})                     \
  X(affine2g128few, keys(2, TOKENS, 128, true), values(2, CHANNELS, 128, true), 1, 12, {4})                  \
  X(affine2g32few, keys(2, TOKENS, 32, true), values(2, CHANNELS, 32, true), 1, 12, {4, 8})

#define DEFINE(name, K, V, TILES, WARPS, ...)                                                                                \
  extern "C" __global__ void __launch_bounds__(LANES * WARPS, 1) name(const __grid_constant__ DecodeJob job) {              \
    attendRows<K, V, TILES, WARPS>(job);                                                                                    \
  }
KERNELS(DEFINE)

int main(int count, char** arguments) {
  const bool withTimes = count < 2 || std::strcmp(arguments[1], "--no-times") != 0;
  bool isRight = true;
#define RUN(name, K, V, TILES, WARPS, ...) isRight &= Runner<K, V, TILES, WARPS, name>::run(#name, withTimes, __VA_ARGS__);
  KERNELS(RUN)
  return isRight ? 0 : 1;
}
