// Products by cuBLASLt: what is asked of it, and which of its algorithms is taken. With the
// simulated runtime and a library of that name that multiplies one element after another
// (tests/cuda/simulated/cublas.cpp).
#include <gtest/gtest.h>

#include <cublasLt.h>

#include <cstdlib>
#include <random>

#include "core/cuda/product.h"
#include "core/cuda/seam/cuda.h"
#include "core/cuda/vendor/libraries.h"
#include "core/tensor/storage.h"

namespace plimsoll {
namespace {

using cuda::Matrices, cuda::Product;

using Counts = SimulatedCublasCounts;
Counts counts() {
  static const cuda::Library library(
      {.name = "cuBLAS", .file = "libcublasLt.so.13", .package = ""});
  return library.function<Counts()>("simulatedCublasCounts")();
}

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

class CublasProducts : public testing::Test {
 protected:
  void SetUp() override { setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1); }
};

TEST_F(CublasProducts, AreRightInAllOrders) {
  const int before = counts().products;
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
  EXPECT_EQ(counts().products - before, asked);
}

// The heuristic is asked once for each kind of product, whether it is added to what is there or
// not.
TEST_F(CublasProducts, TheFirstAlgorithmIsTakenAndKept) {
  const Counts before = counts();
  for (const bool accumulate : {false, true, false})
    EXPECT_TRUE(multiplies(DType::f32, {.m = 6}, false, false, false, accumulate));
  const Counts now = counts();
  EXPECT_EQ(now.products - before.products, 3);
  EXPECT_EQ(now.asked - before.asked, 1);
}

// Sizes that are no multiples of 8, of the results, of the sums, and of the rows of a transposed a:
// rows are padded and the rest is multiplied by itself. The results are compared in places.
TEST_F(CublasProducts, OddSizesAreCutAndPadded) {
  constexpr DType dtype = DType::f16;
  struct Case {
    int64_t m, n, k;
    bool turn_a, turn_b, with_bias, accumulate;
    int products;
  };
  // Of the first two 1,600,000 bytes are padded at a time.
  for (const Case& s : {Case{1600, 1001, 640, false, true, true, false, 6},
                        Case{1600, 64, 10001, false, false, true, true, 46},
                        Case{1001, 64, 16000, true, false, false, true, 2}}) {
    SCOPED_TRACE(cat(s.m, " x ", s.n, " x ", s.k));
    const auto a = numbers(s.m * s.k, dtype, 1), b = numbers(s.k * s.n, dtype, 2),
               c = numbers(s.m * s.n, dtype, 3), bias = numbers(s.n, dtype, 4),
               before = numbers(s.m * s.n, dtype, 3);
    const View bias_view{bias->data(), {{s.n}, dtype, Device::cuda}, {1}};
    const Product p{.m = s.m,
                    .n = s.n,
                    .k = s.k,
                    .a = {a->data(), dtype, s.turn_a ? 1 : s.k, s.turn_a ? s.m : 1},
                    .b = {b->data(), dtype, s.turn_b ? 1 : s.n, s.turn_b ? s.k : 1},
                    .c = {c->data(), dtype, s.n, 1},
                    .bias = s.with_bias ? &bias_view : nullptr,
                    .accumulate = s.accumulate};
    const int64_t bytes = cuda::product_bytes(dtype, 1, s.m, s.n, s.k);
    EXPECT_GT(bytes, cuda::kLibraryBytes);
    const int64_t given = cuda::kLibraryBytes + std::min(bytes - cuda::kLibraryBytes,
                                                         s.turn_a ? bytes : int64_t{1'600'000});
    const auto scratch = Storage::allocate(Device::cuda, given, MemoryClass::workspace, "test");
    const int products = counts().products;
    product(p, {scratch->data(), static_cast<size_t>(given)});
    cuda_api().synchronize();
    EXPECT_EQ(counts().products - products, s.products);
    for (int64_t place = 0; place < s.m * s.n; place += 37) {
      const int64_t i = place / s.n, j = place % s.n;
      double sum = s.with_bias ? at({bias->data(), dtype}, j) : 0;
      if (s.accumulate) sum += at({before->data(), dtype}, place);
      for (int64_t k = 0; k < s.k; ++k)
        sum += at(p.a, i * p.a.row + k * p.a.column) * at(p.b, k * p.b.row + j * p.b.column);
      EXPECT_NEAR(at(p.c, place), sum, std::abs(sum) * 2e-3 + 0.01) << i << " " << j;
    }
  }
}

// What the library may use is what the call was given, but for its boundary.
TEST_F(CublasProducts, AlgorithmsKeepWithinTheWorkspace) {
  for (const int64_t bytes : {0, 255, 256, 1000, 4096}) {
    EXPECT_TRUE(multiplies(DType::f32, {.m = 9}, false, false, false, false, bytes));
    EXPECT_EQ(counts().workspace, static_cast<size_t>(std::max<int64_t>(bytes - 256, 0)));
  }
}

}  // namespace
}  // namespace plimsoll
