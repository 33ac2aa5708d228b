// Sequences that go on from a cache of keys and values: the bits of the whole at once, however it
// is cut.
#include "nn/key_value_cache.h"

#include <numeric>

#include "autograd/no_grad.h"
#include "memory/pool/pooled_allocator.h"
#include "nn/checkpointed.h"
#include "nn/embedding.h"
#include "ops/shape/view/view.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

Tensor places(int64_t first, int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), first);
  return Tensor::of(std::span<const int64_t>(all), {n});
}

// x [B, T, D] read in runs of these lengths, joined again.
Doubles read_in_runs(const Module& model, const KeyValueCache& cache, const Tensor& x,
                     const std::vector<int64_t>& runs) {
  const NoGrad scope;
  const int64_t batch = x.size(0), steps = x.size(1), width = x.size(2);
  Doubles all(static_cast<size_t>(x.count()));
  int64_t first = 0;
  for (const int64_t run : runs) {
    const Tensor part = contiguous(slice(x, 1, first, first + run));
    const Doubles y = values(model(part, going_on(cache, places(first, run))));
    for (int64_t b = 0; b < batch; ++b)
      std::copy_n(y.begin() + b * run * width, run * width,
                  all.begin() + (b * steps + first) * width);
    first += run;
  }
  EXPECT_EQ(first, steps);
  return all;
}

TEST(KeyValueCache, GivesTheBitsOfTheWholeSequence) {
  const std::vector<std::vector<int64_t>> cuts = {
      {300}, {1, 1, 1, 2, 120, 3, 1, 1, 140, 1, 1, 28}, {127, 1, 1, 1, 128, 42}, {255, 3, 42}};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    Initializer init{.seed = 1, .placement = {.dtype = dtype}};
    Sequential model;
    model.then<LearnedPositions>(300, 24, init);
    for (int i = 0; i < 2; ++i)
      model.then<TransformerBlock>(24, init, TransformerOptions{.heads = 2, .causal = true});
    shake(model, 5);
    const Tensor x = cast(draw({2, 300, 24}, 3), dtype);
    const Doubles whole = values(model(x));
    const KeyValueCache cache(model, {.batch = 2, .context = 300});
    for (const auto& runs : cuts)  // what is there of the one before does not matter
      EXPECT_EQ(read_in_runs(model, cache, x, runs), whole) << cat(dtype) << ", " << runs.size();
    std::vector<int64_t> ones(300, 1);
    EXPECT_EQ(read_in_runs(model, cache, x, ones), whole) << cat(dtype) << ", one by one";
  }
}

TEST(KeyValueCache, PositionsOfAnyKindGoOn) {
  Initializer init{.seed = 1};
  const SinusoidalPositions positions(12, 6, init);
  const TransformerBlock block(6, init, {.heads = 3, .causal = true, .norm = NormOrder::post});
  const KeyValueCache cache(block, {.context = 12});
  const Tensor x = cast(draw({1, 12, 6}, 3), DType::f32);
  const Doubles whole = values(block(positions(x)));
  Doubles parts;
  const NoGrad scope;
  for (int64_t t = 0; t < 12; t += 3) {
    const Mode mode = going_on(cache, places(t, 3));
    const Tensor part = contiguous(slice(x, 1, t, t + 3));
    const Doubles y = values(block(positions(part, mode), mode));
    parts.insert(parts.end(), y.begin(), y.end());
  }
  EXPECT_EQ(parts, whole);
}

TEST(KeyValueCache, GivesTheBitsForEveryWidthOfAHead) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
    for (int64_t width = 1; width <= 40; ++width) {
      Initializer init{.seed = 1, .placement = {.dtype = dtype}};
      const MultiHeadAttention attention(width, init, {.heads = 1, .causal = true});
      const Tensor x = cast(draw({1, 70, width}, 3), dtype);
      const KeyValueCache cache(attention, {.context = 70});
      EXPECT_EQ(read_in_runs(attention, cache, x, std::vector<int64_t>(70, 1)),
                values(attention(x)))
          << cat(dtype) << ", " << width;
    }
}

TEST(KeyValueCache, IsReadByCheckpointedBlocksToo) {
  Initializer init{.seed = 1};
  const TransformerBlock block(8, init, {.heads = 2, .causal = true});
  const KeyValueCache cache(block, {.context = 5});
  const Tensor x = cast(draw({1, 5, 8}, 3), DType::f32);
  const NoGrad scope;
  checkpointed(block, contiguous(slice(x, 1, 0, 4)), going_on(cache, places(0, 4)));
  const Tensor last = contiguous(slice(x, 1, 4, 5));
  EXPECT_EQ(values(checkpointed(block, last, going_on(cache, places(4, 1)))),
            values(slice(block(x), 1, 4, 5)));
}

TEST(KeyValueCache, TakesTheBytesItSays) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  Initializer init{.seed = 1, .placement = {.dtype = DType::bf16}};
  const TransformerBlock block(24, init, {.heads = 3, .causal = true});
  const AllocatorScope scope(pool);
  const KeyValueCache cache(block, {.batch = 2, .context = 5});
  EXPECT_EQ(cache.bytes(), 2 * block_bytes(2 * 5 * 24 * 2));
  EXPECT_EQ(pool->stats().in_use, cache.bytes());
  EXPECT_EQ(pool->stats().by_class[static_cast<size_t>(MemoryClass::cache)], cache.bytes());
}

TEST(KeyValueCache, RefusesWhatItCannotRemember) {
  Initializer init{.seed = 1};
  const TransformerBlock both_ways(4, init, {.heads = 2});
  expect_error<ValueError>(
      [&] { KeyValueCache(both_ways, {.context = 3}); },
      "key_value_cache: an attention is not causal: \"attention\" sees what comes later. Use a "
      "model that reads in one direction.");
  const Linear none(2, 2, init);
  expect_error<ValueError>(
      [&] { KeyValueCache(none, {.context = 3}); },
      "key_value_cache: the model has no attention, so there is nothing to remember. Use one that "
      "has.");
  const TransformerBlock one(4, init, {.heads = 2, .causal = true});
  const TransformerBlock other(4, init, {.heads = 2, .causal = true});
  expect_error<ValueError>([&] { KeyValueCache(one, {}); },
                           "key_value_cache: the batch and context are not all positive: [1, 0]. "
                           "Use sizes of at least 1.");
  const KeyValueCache cache(one, {.context = 3});
  const Tensor x = cast(draw({1, 2, 4}, 3), DType::f32);
  expect_error<StateError>(
      [&] { one(x, going_on(cache, places(0, 2))); },
      "attention: what is in a cache has no gradient, and its keys want one. Read under NoGrad.");
  const NoGrad scope;
  expect_error<StateError>(
      [&] { other(x, going_on(cache, places(0, 2))); },
      "attention: the cache was made for another model: it has 1 parts, and none for this module. "
      "Make one for this model.");
  expect_error<IndexError>([&] { one(x, going_on(cache, places(2, 2))); },
                           "write_rows: an id is out of range: 3 at position 1 for a size of 3. "
                           "Use ids from 0 and below 3.");
  const LearnedPositions positions(2, 4, init);
  expect_error<ShapeError>([&] { positions(x, going_on(cache, places(0, 2))); },
                           "positions: the cache has room for 3, and there are 2. Use a smaller "
                           "context, or build the module with a larger length.");
}

}  // namespace
}  // namespace plimsoll::nn
