// The matrix product against Eigen's: both layouts of both operands, sizes on both sides of every
// block, rows of C with gaps between them.
#include "core/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/cpu/gemm/gemm16.h"
#include "core/cpu/gemm/tile_unit.h"
#include "core/cpu/level.h"
#include "core/cpu/parallel.h"
#include "tests/core/cpu/gemm_testing.h"

namespace plimsoll {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_transposed, b_transposed, accumulate;
};

template <class T>
void expect_product(const Case& c, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k
                                  << (c.a_transposed ? " T" : " N") << (c.b_transposed ? "T" : "N")
                                  << (c.accumulate ? " +=" : " ="));
  const Matrix<T> a = random_matrix<T>(c.m, c.k, random), b = random_matrix<T>(c.k, c.n, random);
  const Matrix<T> before = random_matrix<T>(c.m, c.n + 3, random);
  Matrix<T> ours = before;
  const Stored<T> left(a, c.a_transposed, 1), right(b, c.b_transposed, 2);
  gemm<T>(c.m, c.n, c.k, left.ref, right.ref, ours.data(), c.n + 3,
          c.accumulate ? Store::accumulate : Store::overwrite);
  Matrix<double> theirs = a.template cast<double>() * b.template cast<double>();
  if (c.accumulate) theirs += before.leftCols(c.n).template cast<double>();
  // Sums of k products of N(0, 1): about sqrt(k) large, and rounded k times.
  const double tolerance = 16 * std::numeric_limits<T>::epsilon() * static_cast<double>(c.k + 1);
  if (c.m > 0 && c.n > 0) {
    const double error =
        (ours.leftCols(c.n).template cast<double>() - theirs).cwiseAbs().maxCoeff();
    EXPECT_LE(error, tolerance);
  }
  EXPECT_EQ(ours.rightCols(3), before.rightCols(3)) << "the gap between the rows was written";
  Matrix<T> near = before;
  gemm_unpacked<T>(c.m, c.n, c.k, left.ref, right.ref, near.data(), c.n + 3,
                   c.accumulate ? Store::accumulate : Store::overwrite, {right.ref, c.k, c.n});
  EXPECT_TRUE(near == ours) << "gemm_unpacked() gives other bits";
}

TEST(Gemm, EqualsEigens) {
  const int64_t sizes[] = {0, 1, 2, 5, 6, 12, 13, 14, 15, 16, 17, 28, 29, 31, 33, 64, 65, 97, 130};
  std::mt19937 random(1);
  const auto pick = [&] { return sizes[random() % std::size(sizes)]; };
  for (int i = 0; i < 400; ++i) {
    const Case c{pick(), pick(), pick(), random() % 2 == 0, random() % 2 == 0, random() % 2 == 0};
    expect_product<float>(c, random);
    expect_product<double>(c, random);
  }
}

TEST(Gemm, EqualsEigensBeyondEveryBlock) {
  std::mt19937 random(2);
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      expect_product<float>({1153, 40, 30, a, b, false}, random);
      expect_product<float>({2500, 40, 300, a, b, true}, random);
      expect_product<float>({2900, 1000, 40, a, b, true}, random);  // tiles below and beside others
      expect_product<float>({1, 1025, 770, a, b, true}, random);    // one row
      expect_product<double>({1, 131, 515, a, b, false}, random);
      expect_product<float>({30, 1025, 257, a, b, true}, random);
      expect_product<float>({100, 70, 513, a, b, false}, random);
      expect_product<double>({70, 530, 300, a, b, false}, random);
      expect_product<float>({64, 1000, 256, a, b, false}, random);   // few rows, one round
      expect_product<float>({1200, 1000, 300, a, b, true}, random);  // several tiles for each thread
      expect_product<float>({37, 3000, 530, a, b, true}, random);    // few rows: as its transpose,
      expect_product<float>({128, 1030, 1023, a, b, false}, random);
      expect_product<float>({250, 1100, 1022, a, b, true}, random);  // B's rows 4 KiB apart
      expect_product<double>({60, 2100, 260, a, b, true}, random);
    }
}

// Adds a product of bfloat16 to `sums` as the processor's instructions are defined. Of pairs, the
// odd term is added first, each is rounded once, in blocks of 512 terms; of a tile's 32 terms, the
// even ones and the odd ones are added up apart.
void add_product(BFloat16Products products, const Case& c, const Stored<float>& a,
                 const Stored<float>& b, Matrix<float>& sums) {
  const auto at = [](const MatrixRef<float>& x, int64_t row, int64_t col) {
    return x.data[row * x.row_stride + col * x.col_stride];
  };
  const bool by_tiles = products == BFloat16Products::tiles;
  const int64_t length = by_tiles ? 32 : 512;
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j)
      for (int64_t block = 0; block < c.k; block += length) {
        const int64_t end = std::min(block + length, c.k);
        float even = 0, odd = 0;
        for (int64_t t = block; t < end; t += 2) {
          float& with_odd = by_tiles ? odd : even;
          if (t + 1 < end) with_odd = std::fma(at(a.ref, i, t + 1), at(b.ref, t + 1, j), with_odd);
          even = std::fma(at(a.ref, i, t), at(b.ref, t, j), even);
        }
        sums(i, j) += even + odd;
      }
}

// By pieces, and yet to the bit what the product of the whole operands is, made in the same way,
// when it is rounded.
template <class T>
void expect_16_bit_product(const Case& c, bool has_bias, std::mt19937& random) {
  const auto rounded = [](Matrix<float> x) {
    for (float& v : x.reshaped()) v = static_cast<float>(T(v));
    return x;
  };
  const auto narrowed = [](const auto& values) {
    std::vector<T> result;
    for (const float v : values) result.push_back(T(v));
    return result;
  };
  const Stored<float> a(rounded(random_matrix<float>(c.m, c.k, random)), c.a_transposed, 1);
  const Stored<float> b(rounded(random_matrix<float>(c.k, c.n, random)), c.b_transposed, 2);
  const Matrix<float> bias = rounded(random_matrix<float>(1, c.n, random));
  const BFloat16Products products =
      std::is_same_v<T, BFloat16> ? bfloat16_products() : BFloat16Products::widened;
  const Matrix<float> zero = Matrix<float>::Zero(c.m, c.n);
  const Matrix<float> row_sums = has_bias ? Matrix<float>(bias.replicate(c.m, 1)) : zero;
  Matrix<float> whole = products == BFloat16Products::tiles ? zero : row_sums;
  if (products == BFloat16Products::widened)
    gemm<float>(c.m, c.n, c.k, a.ref, b.ref, whole.data(), c.n, Store::accumulate);
  else
    add_product(products, c, a, b, whole);
  if (products == BFloat16Products::tiles && has_bias) whole += row_sums;

  const std::vector<T> left = narrowed(a.memory), right = narrowed(b.memory),
                       row = narrowed(bias.reshaped());
  const MatrixRef<T> a16{left.data(), a.ref.row_stride, a.ref.col_stride};
  const MatrixRef<T> b16{right.data(), b.ref.row_stride, b.ref.col_stride};
  std::vector<T> ours(static_cast<size_t>(c.m * c.n));
  std::vector<std::byte> scratch(
      static_cast<size_t>(gemm_16_bit_bytes(dtype_of<T>, c.m, c.n, c.k)));
  gemm_16_bit<T, T>(c.m, c.n, c.k, a16, b16, has_bias ? row.data() : nullptr, ours.data(),
                    scratch.data());
  for (int64_t i = 0; i < c.m * c.n; ++i)
    ASSERT_EQ(ours[static_cast<size_t>(i)].bits, T(whole.data()[i]).bits)
        << c.m << " x " << c.n << " x " << c.k << " at " << i;
}

TEST(Gemm, Of16BitsIsThatOfTheWholeOperandsRounded) {
  std::mt19937 random(4);
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const bool bias : {false, true}) {
        expect_16_bit_product<Half>({1100, 33, 40, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({40, 33, 1300, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({600, 70, 513, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({20, 2100, 1301, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({30, 17, 1, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({48, 400, 64, a, b, false}, bias, random);
        expect_16_bit_product<BFloat16>({1030, 17, 96, a, b, false}, bias, random);
        expect_16_bit_product<Half>({530, 2100, 20, a, b, false}, bias, random);
        expect_16_bit_product<Half>({3, 5, 0, a, b, false}, bias, random);
        expect_16_bit_product<Half>({1, 70, 300, a, b, false}, bias, random);  // one row
        expect_16_bit_product<BFloat16>({1, 45, 517, a, b, false}, bias, random);
      }
  EXPECT_EQ(gemm_16_bit_bytes(DType::f32, 1100, 33, 40), 0);
  EXPECT_EQ(gemm_16_bit_bytes(DType::f16, 1 << 20, 1 << 20, 1 << 20), 9 << 20);
}

// The terms of each sum cancel, so that all of it is what was rounded on the way: of a sum that is
// taken in another order 16 bits would be others too.
template <class T>
void expect_row_of_two(int64_t k, bool has_bias) {
  constexpr int64_t n = 45;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<T> row(k), rows, w(n * k), bias(has_bias ? n : 0);
  for (T& x : row) x = T(normal(random));
  for (T& x : w) x = T(normal(random));
  for (T& x : bias) x = T(normal(random));
  const int64_t half = k / 2;
  for (int64_t i = 0; i < half; ++i) row[k - 1 - i] = row[i];
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < half; ++i) w[j * k + k - 1 - i] = T(-static_cast<float>(w[j * k + i]));
  for (int copy = 0; copy < 2; ++copy) rows.insert(rows.end(), row.begin(), row.end());
  std::vector<T> one(n), two(2 * n);
  std::vector<std::byte> scratch(static_cast<size_t>(gemm_16_bit_bytes(dtype_of<T>, 2, n, k)));
  const auto product = [&](int64_t m, const std::vector<T>& x, std::vector<T>& y) {
    gemm_16_bit<T, T>(m, n, k, {x.data(), k, 1}, {w.data(), 1, k}, has_bias ? bias.data() : nullptr,
                      y.data(), scratch.data());
  };
  product(1, row, one);
  product(2, rows, two);
  for (int64_t j = 0; j < n; ++j) ASSERT_EQ(one[j].bits, two[j].bits) << k << " at " << j;
}

TEST(Gemm, OneRowHasTheBitsOfARowOfTwo) {
  for (const int64_t k : {1, 7, 64, 255, 768, 1301})
    for (const bool bias : {false, true}) {
      expect_row_of_two<Half>(k, bias);
      expect_row_of_two<BFloat16>(k, bias);
    }
}

TEST(Gemm, BFloat16IsMultipliedAsAsked) {
  const char* const value = std::getenv("PLIMSOLL_BF16");
  if (!value || !*value) GTEST_SKIP() << "PLIMSOLL_BF16 is not set: the processor decides";
  const std::string_view asked = value;
#if defined(__x86_64__)
  if (asked == "dot" && !__builtin_cpu_supports("avx512bf16"))
    GTEST_SKIP() << "this processor has no AVX512-BF16";
#endif
  EXPECT_STREQ(name_of(bfloat16_products()), asked == "dot"     ? "by dot products"
                                             : asked == "tiles" ? "by tiles"
                                                                : "widened");
}

// The last of an odd number of terms has a zero beside it, which infinity does not touch. Only the
// instructions themselves read subnormal numbers as 0.
TEST(Gemm, PairsOfSpecialNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kSubnormal = 0x1p-130F;
  const bool flushes = (bfloat16_products() == BFloat16Products::tiles && has_tile_unit()) ||
                       (bfloat16_products() == BFloat16Products::dot &&
                        std::string_view(cpu_level()) == "x86-64-v4");
  for (const int64_t m : {1, 2})
    for (const int64_t k : {1, 3, 33, 513}) {
      const std::vector<BFloat16> ones(static_cast<size_t>(k), BFloat16(1.0F));
      const auto product = [&](float last) {
        std::vector<BFloat16> a(static_cast<size_t>(m * k)), y(static_cast<size_t>(m));
        for (int64_t row = 0; row < m; ++row)
          a[static_cast<size_t>(row * k + k - 1)] = BFloat16(last);
        std::vector<std::byte> scratch(
            static_cast<size_t>(gemm_16_bit_bytes(DType::bf16, m, 1, k)));
        gemm_16_bit<BFloat16, BFloat16>(m, 1, k, {a.data(), k, 1}, {ones.data(), 1, k}, nullptr,
                                        y.data(), scratch.data());
        return static_cast<float>(y.back());
      };
      EXPECT_EQ(product(kInfinity), kInfinity) << m << ", " << k;
      EXPECT_EQ(product(kSubnormal), flushes ? 0 : kSubnormal) << m << ", " << k;
    }
}

TEST(GemmDeathTest, OtherSettingsAreRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ask = [] {
    setenv("PLIMSOLL_BF16", "yes", 1);
    try {
      bfloat16_products();
    } catch (const ValueError& e) {
      std::fprintf(stderr, "%s", e.what());
      std::_Exit(3);
    }
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(3),
              "PLIMSOLL_BF16: neither widened, dot nor tiles: yes");
}

// Some in rounds that all threads share, some in tiles, and 1100 x 300 in either by their number.
TEST(Gemm, BitsDoNotDependOnThreads) {
  std::mt19937 random(3);
  const int before = num_threads();
  struct Sizes {
    int64_t m, n, k;
  };
  for (const bool transposed : {false, true})
    for (const auto& [m, n, k] : {Sizes{1, 1000, 700},
                                  {20, 190, 300},
                                  {37, 3000, 530},
                                  {250, 1100, 1022},
                                  {200, 190, 300},
                                  {700, 190, 300},
                                  {700, 190, 200},
                                  {1100, 300, 600}}) {
      const Stored<float> a(random_matrix<float>(m, k, random), transposed, 0);
      const Stored<float> b(random_matrix<float>(k, n, random), transposed, 0);
      std::vector<Matrix<float>> results;
      for (const int threads : {1, 2, 3, 7}) {
        set_num_threads(threads);
        Matrix<float>& c = results.emplace_back(m, n);
        gemm<float>(m, n, k, a.ref, b.ref, c.data(), n);
        EXPECT_TRUE(c == results[0])
            << m << " x " << n << " x " << k << ", " << threads << " threads";
      }
    }
  set_num_threads(before);
}

}  // namespace
}  // namespace plimsoll
