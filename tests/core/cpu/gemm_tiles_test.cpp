// Products by tiles: the unit against its definition, and the loops around it against sums in the
// order that they promise.
#include "core/cpu/gemm/gemm_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/core/cpu/gemm_testing.h"

namespace plimsoll {
namespace {

std::vector<float> special_numbers() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, 3e38F};
}

// R x W tiles of random numbers, some of them special, in both ways.
template <int R, int W>
void expect_definition(bool special) {
  SCOPED_TRACE(testing::Message() << R << " x " << W << (special ? ", special numbers" : ""));
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  const std::vector<float> specials = special_numbers();
  const auto number = [&] {
    const bool rare = special && random() % 64 == 0;
    return BFloat16(rare ? specials[random() % specials.size()] : normal(random));
  };
  constexpr int64_t depth = 5, pitch = depth * kTileTerms * 2 + 6;
  std::vector<std::byte> a(static_cast<size_t>(R * kTileLines * pitch));
  std::vector<uint32_t> b(static_cast<size_t>(W * depth * kTileWords));
  for (size_t i = 0; i < a.size(); i += 2) {
    const BFloat16 x = number();
    std::memcpy(&a[i], &x, 2);
  }
  for (uint32_t& pair : b) pair = number().bits | uint32_t{number().bits} << 16;
  for (const bool add : {false, true}) {
    std::vector<float> sums(kSums);
    for (float& x : sums) x = normal(random);
    std::vector<float> by_numbers = sums;
    {
      const TileUnit unit;
      multiply_tiles<R, W>({a.data(), pitch}, b.data(), depth, add, sums.data());
    }
    multiply_tiles_by_numbers<R, W>({a.data(), pitch}, b.data(), depth, add, by_numbers.data());
    for (size_t i = 0; i < sums.size(); ++i)
      if (!std::isnan(sums[i]) || !std::isnan(by_numbers[i])) {
        ASSERT_EQ(sums[i], by_numbers[i]) << i;
      }
  }
}

TEST(GemmTiles, TheUnitDoesWhatItsDefinitionSays) {
  if (!has_tile_unit()) GTEST_SKIP() << "this processor has no AMX";
  for (const bool special : {false, true}) {
    expect_definition<1, 1>(special);
    expect_definition<1, 2>(special);
    expect_definition<2, 1>(special);
    expect_definition<2, 2>(special);
  }
}

// Of each 32 terms the even ones and the odd ones are added up apart.
float sum_by_tiles(const Matrix<float>& a, const Matrix<float>& b, int64_t row, int64_t column) {
  float sum = 0;
  for (int64_t block = 0; block < a.cols(); block += kTileTerms) {
    const int64_t end = std::min<int64_t>(block + kTileTerms, a.cols());
    float even = 0, odd = 0;
    for (int64_t t = block; t < end; ++t) {
      float& of = t % 2 ? odd : even;
      of = std::fma(a(row, t), b(t, column), of);
    }
    sum += even + odd;
  }
  return sum;
}

Matrix<float> rounded(Matrix<float> x) {
  for (float& v : x.reshaped()) v = static_cast<float>(BFloat16(v));
  return x;
}

// Operands in f32 are rounded; rows of C have gaps between them, which stay.
TEST(GemmTiles, RoundsF32AndAddsToWhatThereIs) {
  struct Sizes {
    int64_t m, n, k;
  };
  std::mt19937 random(7);
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true})
      for (const auto& [m, n, k] :
           {Sizes{128, 32, 64}, {33, 17, 31}, {530, 40, 1100}, {40, 800, 1100}, {7, 5, 0}}) {
        const Matrix<float> a = random_matrix<float>(m, k, random);
        const Matrix<float> b = random_matrix<float>(k, n, random);
        const Matrix<float> before = random_matrix<float>(m, n + 3, random);
        const Stored<float> left(a, a_transposed, 1), right(b, b_transposed, 2);
        const Matrix<float> a16 = rounded(a), b16 = rounded(b);
        for (const Store store : {Store::overwrite, Store::accumulate}) {
          Matrix<float> c = before;
          gemm_tiles(m, n, k, left.ref, right.ref, nullptr, c.data(), n + 3, store);
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              const float sum = sum_by_tiles(a16, b16, i, j);
              ASSERT_EQ(c(i, j), store == Store::overwrite ? sum : sum + before(i, j))
                  << m << " x " << n << " x " << k << " at " << i << ", " << j;
            }
            for (int64_t j = n; j < n + 3; ++j) ASSERT_EQ(c(i, j), before(i, j));
          }
        }
      }
}

// Both operands packed, or one as it lies in memory; one pass and several.
TEST(GemmTiles, BitsDoNotDependOnThreads) {
  std::mt19937 random(8);
  const int threads_before = num_threads();
  struct Sizes {
    int64_t m, n, k;
  };
  for (const bool transposed : {false, true})
    for (const auto& [m, n, k] : {Sizes{544, 800, 700}, {544, 800, 1100}, {256, 768, 1100}}) {
      const Stored<float> a(random_matrix<float>(m, k, random), transposed, 0);
      const Stored<float> b(random_matrix<float>(k, n, random), !transposed, 0);
      std::vector<BFloat16> a16, b16;
      for (const float x : a.memory) a16.emplace_back(x);
      for (const float x : b.memory) b16.emplace_back(x);
      const MatrixRef<BFloat16> left{a16.data(), a.ref.row_stride, a.ref.col_stride};
      const MatrixRef<BFloat16> right{b16.data(), b.ref.row_stride, b.ref.col_stride};
      std::vector<Matrix<float>> results;
      for (const int threads : {1, 2, 3, 7}) {
        set_num_threads(threads);
        Matrix<float>& c = results.emplace_back(m, n);
        gemm_tiles(m, n, k, left, right, nullptr, c.data(), n);
        EXPECT_TRUE(c == results[0])
            << m << " x " << n << " x " << k << ", " << threads << " threads";
      }
    }
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace plimsoll
