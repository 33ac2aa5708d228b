// Products by cuBLASLt: what is asked of it, which of its algorithms is taken, and what is kept of
// that. With the simulated runtime and a library of that name that multiplies one element after
// another (simulated_cuda/cublas.cpp).
#include <gtest/gtest.h>

#include <cublasLt.h>

#include <cstdlib>
#include <random>

#include "core/autotune.h"
#include "core/cuda/libraries.h"
#include "core/cuda/product.h"
#include "core/cuda_queue.h"
#include "core/storage.h"
#include "tests/data_testing.h"

namespace plimsoll {
namespace {

using cuda::Matrices, cuda::Product;
using data::TemporaryFolder;

using Counts = SimulatedCublasCounts;
Counts counts() {
  static const cuda::Library library(
      {.name = "cuBLAS", .file = "libcublasLt.so.13", .package = ""});
  return library.function<Counts()>("simulatedCublasCounts")();
}
// Products by any of its algorithms.
int all(const Counts& c) { return c.products[0] + c.products[1] + c.products[2] + c.products[3]; }

// A block of the device with numbers that every type holds exactly.
std::shared_ptr<Storage> numbers(int64_t n, DType dtype, unsigned seed) {
  auto block = Storage::allocate(Device::cuda, n * size_of(dtype), MemoryClass::input, "test");
  std::mt19937 random(seed);
  for (int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(static_cast<int>(random() % 9) - 4) / 2;
    visit_floating("test", dtype, [&]<class T>() {
      reinterpret_cast<T*>(block->data())[i] = static_cast<T>(value);
    });
  }
  return block;
}

double at(const Matrices& x, int64_t i) {
  double value = 0;
  visit_floating("test", x.dtype,
                 [&]<class T>() { value = static_cast<double>(static_cast<const T*>(x.data)[i]); });
  return value;
}

// Two matrices of 3 x 4 by one of 4 x 5 and the like, in all orders.
struct Sizes {
  int64_t matrices = 2, m = 3, n = 5, k = 4;
};

// Multiplies, compares with sums made here, and says whether the library did it.
bool multiplies(DType dtype, const Sizes& s, bool turn_a, bool turn_b, bool with_bias,
                bool accumulate, int64_t workspace = 4096) {
  const auto a = numbers(s.matrices * s.m * s.k, dtype, 1), b = numbers(s.k * s.n, dtype, 2),
             c = numbers(s.matrices * s.m * s.n, dtype, 3), bias = numbers(s.n, dtype, 4),
             before = numbers(s.matrices * s.m * s.n, dtype, 3);
  const auto scratch = Storage::allocate(Device::cuda, workspace, MemoryClass::workspace, "test");
  const View bias_view{bias->data(), {{s.n}, dtype, Device::cuda}, {1}};
  const Product p{.batch = {s.matrices},
                  .m = s.m,
                  .n = s.n,
                  .k = s.k,
                  .a = {a->data(), dtype, turn_a ? 1 : s.k, turn_a ? s.m : 1, {s.m * s.k}},
                  .b = {b->data(), dtype, turn_b ? 1 : s.n, turn_b ? s.k : 1, {0}},
                  .c = {c->data(), dtype, s.n, 1, {s.m * s.n}},
                  .bias = with_bias ? &bias_view : nullptr,
                  .accumulate = accumulate};
  const bool done = product_by_library(p, {scratch->data(), static_cast<size_t>(workspace)});
  cuda_api().synchronize();
  if (!done) return false;
  const Matrices old{before->data(), dtype};
  for (int64_t matrix = 0; matrix < s.matrices; ++matrix)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        const int64_t place = (matrix * s.m + i) * s.n + j;
        double sum = accumulate ? at(old, place) : 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum += at(p.a, matrix * s.m * s.k + i * p.a.row + k * p.a.column) *
                 at(p.b, k * p.b.row + j * p.b.column);
        if (with_bias) sum += at({bias->data(), dtype}, j);
        EXPECT_EQ(at(p.c, place), sum) << matrix << " " << i << " " << j;
      }
  return true;
}

bool multiplies(const Sizes& s, bool accumulate = false) {
  return multiplies(DType::f32, s, false, false, false, accumulate);
}

class CublasProducts : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    setenv("PLIMSOLL_CUDA_PLANS", folder_.path().c_str(), 1);
    unsetenv("PLIMSOLL_SIMULATED_CUBLAS");
    set_autotune(false);
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  // In a process of its own, which has chosen no algorithm yet: the exit status tells whether ok().
  template <class F>
  void expect_in_another_process(const F& ok) {
    EXPECT_EXIT(std::_Exit(ok() && !HasFailure() ? 0 : 1), testing::ExitedWithCode(0), "");
  }
  // One product there, timed or not: what it counted.
  template <class F>
  void after_one_product(bool timed, const F& ok) {
    expect_in_another_process([&] {
      set_autotune(timed);
      const Counts before = counts();
      EXPECT_TRUE(multiplies({.m = 7}));
      Counts now = counts();
      for (int i = 0; i < 4; ++i) now.products[i] -= before.products[i];
      now.asked_for_one -= before.asked_for_one;
      now.asked_for_more -= before.asked_for_more;
      return ok(now);
    });
  }

  const TemporaryFolder folder_;
};

TEST_F(CublasProducts, AreRightInAllOrders) {
  const int before = all(counts());
  int asked = 0;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const bool turn_a : {false, true})
      for (const bool turn_b : {false, true})
        for (const bool bias : {false, true})
          for (const bool accumulate : {false, true})
            for (const Sizes s : {Sizes(), Sizes{1, 3, 5, 4}, Sizes{2, 1, 5, 4}, Sizes{2, 3, 1, 4},
                                  Sizes{2, 3, 5, 1}}) {
              const bool possible = !bias || dtype != DType::f64;
              EXPECT_EQ(multiplies(dtype, s, turn_a, turn_b, bias, accumulate), possible);
              asked += possible;
            }
  EXPECT_EQ(all(counts()) - before, asked);
}

TEST_F(CublasProducts, WithoutTimesTheFirstAlgorithmIsTaken) {
  const Counts before = counts();
  for (int again = 0; again < 3; ++again) EXPECT_TRUE(multiplies({.m = 6}));
  const Counts now = counts();
  EXPECT_EQ(now.products[0] - before.products[0], 3);
  EXPECT_EQ(all(now) - all(before), 3);
  EXPECT_EQ(now.asked_for_one - before.asked_for_one, 1);
  EXPECT_EQ(now.asked_for_more, before.asked_for_more);
  EXPECT_EQ(files(), 0u);
}

TEST_F(CublasProducts, TheFastestIsTakenAndFoundAgain) {
  const auto timed = [](const Counts& c) {
    return c.asked_for_more == 1 && c.products[0] > 5 && c.products[1] > 5 &&
           c.products[2] > c.products[1] && c.products[3] == 1;
  };
  const auto found = [](const Counts& c) {
    return c.asked_for_more == 0 && c.products[2] == 1 && all(c) == 1;
  };
  after_one_product(true, timed);
  EXPECT_EQ(files(), 1u);
  after_one_product(true, found);
  after_one_product(false, [](const Counts& c) {  // who does not ask for it does not see it
    return c.asked_for_more == 0 && c.products[0] == 1 && all(c) == 1;
  });

  const auto file = std::filesystem::directory_iterator(folder_.path())->path();
  data::Bytes bytes = data::read_file(file);
  bytes[bytes.size() - 5] ^= 1;
  folder_.write(file.filename(), bytes);
  after_one_product(true, timed);  // damaged: again
  after_one_product(true, found);

  setenv("PLIMSOLL_SIMULATED_CUBLAS", "130100", 1);  // of another version nothing is taken
  after_one_product(true, timed);
  EXPECT_EQ(files(), 2u);
  after_one_product(true, found);
}

// A result that is added to can be written once only.
TEST_F(CublasProducts, WhatAccumulatesIsNotTimed) {
  expect_in_another_process([] {
    set_autotune(true);
    const Sizes s{.m = 8};
    const Counts before = counts();
    EXPECT_TRUE(multiplies(s, true));
    const Counts added = counts();
    EXPECT_TRUE(multiplies(s, false));  // here they are
    const Counts written = counts();
    EXPECT_TRUE(multiplies(s, true));
    const Counts last = counts();
    return all(added) == all(before) + 1 && added.products[0] == before.products[0] + 1 &&
           written.asked_for_more == before.asked_for_more + 1 &&
           last.products[0] == written.products[0] + 1 && all(last) == all(written) + 1;
  });
}

// Costs are measured on zeros; the first step is where algorithms are timed.
TEST_F(CublasProducts, OperandsOfNoStepAreNotTimed) {
  expect_in_another_process([] {
    set_autotune(true);
    const Sizes s{.m = 8};
    const Counts before = counts();
    {
      const NoAutotune scope;
      EXPECT_TRUE(multiplies(s, false));
    }
    const Counts measured = counts();
    EXPECT_TRUE(multiplies(s, false));
    return all(measured) == all(before) + 1 && measured.asked_for_more == before.asked_for_more &&
           counts().asked_for_more == before.asked_for_more + 1;
  });
}

// Nobody can wait for what is recorded.
TEST_F(CublasProducts, WhatIsRecordedIsNotTimed) {
  expect_in_another_process([] {
    set_autotune(true);
    const Counts before = counts();
    const auto block = numbers(64, DType::f32, 1);
    const Product p{.m = 2,
                    .n = 2,
                    .k = 2,
                    .a = {block->data(), DType::f32, 2, 1},
                    .b = {block->data() + 64, DType::f32, 2, 1},
                    .c = {block->data() + 128, DType::f32, 2, 1}};
    bool done = false;
    const CudaGraph graph = cuda_queue().record([&] { done = product_by_library(p, {}); });
    const Counts now = counts();
    return done && all(now) == all(before) + 1 && now.asked_for_more == before.asked_for_more;
  });
}

// Without workspace one algorithm less will do.
TEST_F(CublasProducts, CandidatesKeepWithinTheWorkspace) {
  expect_in_another_process([] {
    set_autotune(true);
    const Counts before = counts();
    EXPECT_TRUE(multiplies(DType::f32, {.m = 9}, false, false, false, false, 512));
    const Counts now = counts();
    return now.products[2] == before.products[2] &&
           now.products[1] - before.products[1] > now.products[0] - before.products[0];
  });
}

}  // namespace
}  // namespace plimsoll
