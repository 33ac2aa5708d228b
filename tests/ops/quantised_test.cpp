// Quantised weights beside bitsandbytes, and their products beside those of whole weights.
#include <map>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/base/philox.h"
#include "core/cpu/parallel.h"
#include "formats/npy.h"
#include "memory/step/step.h"
#include "ops/common/dynamic_code.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/support/op_case.h"
#include "tests/support/python.h"

namespace plimsoll {
namespace {

constexpr Quantisation kKinds[] = {Quantisation::int8, Quantisation::nf4};

Tensor drawn(uint64_t seed, const Shape& shape) { return normal(shape, 0, 0.05, seed); }

TEST(DynamicCode, FindsTheNearest) {
  for (const bool is_signed : {true, false}) {
    const DynamicCode& code = is_signed ? DynamicCode::of_signed() : DynamicCode::of_unsigned();
    std::vector<float> xs{0.0F, -0.0F, 1.0F, -1.0F, 1.5F, -1.5F, 1e-30F, -1e-30F};
    for (int i = 0; i < 255; ++i) {
      const float low = code.value(i), high = code.value(i + 1), middle = (low + high) / 2;
      ASSERT_LT(low, high);
      for (const float x : {low, std::nextafter(low, 2.0F), std::nextafter(low, -2.0F), middle,
                            std::nextafter(middle, 2.0F), std::nextafter(middle, -2.0F)})
        xs.push_back(x);
    }
    for (uint64_t i = 0; i < 20000; ++i) {
      const auto words = random_words(3, 5, i);
      xs.push_back(std::ldexp(2 * unit_float(words[0]) - 1, -static_cast<int>(words[1] % 30)));
    }
    for (const float x : xs) {
      const int own = code.nearest(x);
      ASSERT_EQ(own, dynamic_code_nearest(x, is_signed)) << x;
      for (int other = 0; other < 256; ++other)  // but for how a middle is rounded
        ASSERT_LE(std::abs(code.value(own) - x),
                  std::abs(code.value(other) - x) + 2e-7F * std::abs(x))
            << x;
    }
  }
}

// y, and the gradient of x for a gradient of y that differs from element to element.
std::vector<Tensor> product_and_gradient(const Tensor& x, const auto& multiply) {
  const Tensor leaf = x.detach().require_grad(), y = multiply(leaf);
  return {y.detach(), gradients(y, std::array{leaf}, {.seed = y.detach()}).front()};
}

TEST(QuantisedLinear, HasTheBitsOfTheDequantisedProductOnAnyNumberOfThreads) {
  const int threads = num_threads();
  for (const Quantisation kind : kKinds)
    for (const auto& [m, inputs, outputs] : {std::array<int64_t, 3>{1, 700, 1030},
                                             {5, 333, 77},
                                             {64, 700, 1030},
                                             {300, 64, 2100},
                                             {300, 1500, 65}}) {
      const Tensor x = drawn(1, {m, inputs});
      const Quantised w = quantise(drawn(2, {outputs, inputs}), kind);
      const Tensor whole = dequantise(w);
      const auto expected = product_and_gradient(x, [&](auto& t) { return linear(t, whole); });
      for (const int n : {1, 2, 3}) {
        set_num_threads(n);
        const auto actual =
            product_and_gradient(x, [&](auto& t) { return quantised_linear(t, w); });
        EXPECT_TRUE(same_bits(actual[0], expected[0])) << name_of(kind) << " " << m;
        EXPECT_TRUE(same_bits(actual[1], expected[1])) << name_of(kind) << " " << m;
      }
    }
  set_num_threads(threads);
}

TEST(QuantisedLinear, NeverHoldsAWholeWeight) {
  const Quantised w = quantise(drawn(1, {3072, 3072}), Quantisation::nf4);  // 36 MiB in f32
  Step step([&](std::span<const Tensor> in) {
    const Tensor x = in[0].require_grad();
    return gradients(sum(quantised_linear(x, w)), std::array{x});
  });
  const Plan& plan = step.plan({{{64, 3072}}});
  EXPECT_LT(plan.total_bytes(), int64_t{14} << 20);
}

TEST(QuantisedLinear, IsCastUnderAutocastAsALinearLayerIs) {
  const Quantised w = quantise(drawn(1, {5, 7}), Quantisation::nf4);
  const Tensor x = drawn(2, {3, 7});
  const Autocast scope(Precision::bf16);
  EXPECT_EQ(quantised_linear(x, w).dtype(), DType::bf16);
  EXPECT_EQ(linear(x, dequantise(w)).dtype(), DType::bf16);
}

// The bits of arithmetic in f32 on what bitsandbytes has.
struct Theirs {
  std::map<std::string, Tensor> arrays;
  const Tensor& operator[](const std::string& name) const { return arrays.at(name); }

  Quantised weight(const std::string& name, Quantisation kind, const Shape& shape) const {
    const auto part = [&](const char* which) {
      return arrays.at(cat(name, ".", name_of(kind), ".", which));
    };
    if (kind == Quantisation::int8) return {kind, shape, part("codes"), part("scales"), {}, {}};
    return {kind, shape, part("codes"), part("scales"), part("block_scales"), part("offset")};
  }
};

double error_of(const Tensor& a, const Tensor& b) {
  return relative_error(to_array(a), to_array(b));
}

TEST(QuantisedWeights, AreBitsandbytes) {
  NEEDS_PYTHON("numpy, torch, bitsandbytes");
  const std::map<std::string, Shape> shapes{{"square", {256, 256}}, {"tall", {515, 96}},
                                            {"odd", {37, 53}},      {"row", {1, 1000}},
                                            {"one", {1, 1}},        {"large", {1024, 768}}};
  const data::TemporaryFolder dir;
  std::vector<NamedTensor> ours;
  for (const auto& [name, shape] : shapes) {
    Tensor w = drawn(static_cast<uint64_t>(shape[0]), shape);
    if (name == "tall") w = w * relu(drawn(9, {515, 1}));  // rows of zeros
    ours.push_back({name + ".w", w});
    ours.push_back({name + ".x", drawn(7, {12, shape[1]})});
  }
  formats::write_npz(dir / "ours.npz", ours);
  const python::Outcome outcome =
      python::run("ops/references/bitsandbytes_weights.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  Theirs theirs;
  for (const NamedTensor& array : formats::read_npz(dir / "theirs.npz"))
    theirs.arrays[array.name] = array.tensor;

  for (const bool is_signed : {true, false}) {
    std::vector<float> own;
    for (int code = 0; code < 256; ++code) own.push_back(dynamic_code_value(code, is_signed));
    EXPECT_EQ(theirs[is_signed ? "code.signed" : "code.unsigned"].to_vector<float>(), own);
  }
  for (size_t i = 0; i < ours.size(); i += 2)
    for (const Quantisation kind : kKinds) {
      const std::string name = ours[i].name.substr(0, ours[i].name.find('.'));
      SCOPED_TRACE(cat(name, " ", name_of(kind)));
      const Shape& shape = ours[i].tensor.shape();
      const Quantised own = quantise(ours[i].tensor, kind);
      const Quantised given = theirs.weight(name, kind, shape);
      EXPECT_TRUE(same_bits(own.codes, given.codes));
      EXPECT_TRUE(same_bits(own.scales, given.scales));
      const std::string prefix = cat(name, ".", name_of(kind), ".");
      EXPECT_TRUE(same_bits(dequantise(given), theirs[prefix + "values"]));
      if (kind == Quantisation::nf4) {
        // Their mean of the scales is added up in f32, in an order that depends on the machine.
        EXPECT_LE(error_of(own.offset, given.offset), 2e-7);
        EXPECT_LE(error_of(own.block_scales, given.block_scales), 2e-6);
      }
      EXPECT_LE(error_of(dequantise(own), theirs[prefix + "values"]), 1e-6);
      // In int8 they round x to 8 bits too.
      EXPECT_LE(error_of(quantised_linear(ours[i + 1].tensor, given), theirs[prefix + "y"]),
                kind == Quantisation::int8 ? 3e-2 : 2e-6);
    }
}

}  // namespace
}  // namespace plimsoll
