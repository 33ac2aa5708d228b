// Errors that only a kernel can find: the sentences of the CPU's kernels, once the GPU is waited
// for.
#include <functional>

#include "core/cuda/seam/cuda.h"
#include "ops/ops.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

Tensor integers(std::initializer_list<int64_t> values, Device device) {
  return Tensor::of<int64_t>(std::vector(values), {static_cast<int64_t>(values.size())}, device);
}

TEST(CudaFaults, SentencesAreTheCpus) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const std::function<Tensor(Device)> faulty[] = {
      [](Device d) {
        return index_select(ones({3}, {.device = d}), 0, integers({0, 3, 4}, d));
      },
      [](Device d) {
        return gather(ones({2}, {.device = d}), 0, integers({1, 1, -1}, d));
      },
      [](Device d) {
        const Tensor x = ones({2}, {.device = d});
        return scatter_add(x, 0, integers({0, 2}, d), x);
      },
      [](Device d) {
        return index_select(zeros({0, 4}, {.device = d}), 0, integers({0, 1}, d));
      },
      [](Device d) { return one_hot(integers({7}, d), 5); },
      [](Device d) {
        return div_trunc(integers({4, -9, 5}, d), integers({2, 0, 0}, d));
      },
      [](Device d) {
        return cross_entropy(ones({4, 2}, {.device = d}), integers({1, -100, 2, -1}, d));
      },
      [](Device d) {
        return nll_loss(ones({4, 2}, {.device = d}), integers({1, -100, 2, -1}, d),
                        {.ignore_index = -1});
      },
      [](Device d) {
        return embedding(ones({4, 2}, {.device = d}),
                         reshape(cast(integers({3, 0, -5, 4}, d), DType::i32), {2, 2}));
      },
      [](Device d) {
        const Tensor x = ones({4}, {.device = d}), rate = full({}, 0.1, {.device = d});
        sgd_update(x, ones({4}, {.device = d}), {}, zeros({}, {DType::i64, d}), rate);
        return x;
      },
  };
  for (const auto& f : faulty) {
    const std::string expected = error_of<Error>([&] { f(Device::cpu); });
    EXPECT_EQ(error_of<Error>([&] {
                f(Device::cuda);
                cuda_api().synchronize();
              }),
              expected);
    EXPECT_NE(expected, "nothing was thrown");
    cuda_api().synchronize();  // it is forgotten
  }
}

}  // namespace
}  // namespace plimsoll
