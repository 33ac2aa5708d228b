// A frozen layer in 8 or 4 bits: what it computes, its buffers, and that gradients pass through.
#include "nn/quantised/quantised_linear.h"

#include "autograd/gradients.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::string names_of(const std::vector<NamedTensor>& tensors) {
  std::string names;
  for (const NamedTensor& t : tensors) names += t.name + " ";
  return names;
}

TEST(NnQuantisedLinear, ComputesWhatItsCodesStandFor) {
  nn::Initializer init{.seed = 1};
  const nn::Linear dense(70, 9, init);
  const Tensor x = normal({2, 5, 70}, 0, 1, 3);
  for (const Quantisation kind : {Quantisation::int8, Quantisation::nf4}) {
    const nn::QuantisedLinear layer(dense.weight(), dense.bias(), kind);
    EXPECT_TRUE(layer.parameters().empty());
    EXPECT_EQ(names_of(layer.named_buffers()), kind == Quantisation::int8
                                                   ? "codes scales bias "
                                                   : "codes scales block_scales offset bias ");
    const Tensor y = layer(x);
    EXPECT_TRUE(same_bits(y, linear(x, dequantise(layer.weight())) + dense.bias().detach()));
    const double error = relative_error(to_array(y), to_array(dense(x).detach()));
    EXPECT_LT(error, kind == Quantisation::int8 ? 0.02 : 0.15);
    EXPECT_GT(error, 1e-4);
  }
}

TEST(NnQuantisedLinear, LetsGradientsThrough) {
  nn::Initializer init{.seed = 1};
  const nn::Linear below(6, 64, init);
  const nn::QuantisedLinear layer(normal({5, 64}, 0, 1, 3), {}, Quantisation::nf4);
  const Tensor x = normal({3, 6}, 0, 1, 4);
  const std::vector<Tensor> actual = gradients(sum(layer(below(x))), below.parameters());
  const Tensor whole = dequantise(layer.weight());
  const std::vector<Tensor> expected = gradients(sum(linear(below(x), whole)), below.parameters());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_bits(actual[i], expected[i]));
}

TEST(NnQuantisedLinear, IsPlannedWithoutBytes) {
  const nn::QuantisedLinear layer(Tensor::empty({{128, 256}, DType::f32, Device::null}), {},
                                  Quantisation::nf4);
  int64_t bytes = 0;
  for (const NamedTensor& t : layer.named_buffers()) bytes += bytes_of(t.tensor.meta());
  EXPECT_EQ(bytes, 128 * 256 / 2 + 512 + 2 * 4 + 4);
}

TEST(NnQuantisedLinear, RefusesWhatDoesNotFit) {
  expect_error<ShapeError>(
      [] {
        nn::QuantisedLinear(ones({5, 64}), ones({4}), Quantisation::int8);
      },
      "quantised_linear: the bias does not fit: [4] for w [5, 64]. Give it the shape [5].");
  expect_error<ShapeError>(
      [] {
        nn::QuantisedLinear(ones({5, 64}), {}, Quantisation::int8)(ones({2, 63}));
      },
      "quantised_linear: the last axis of the input is not 64: got [2, 63]. Match the width that "
      "the module was built for.");
}

}  // namespace
}  // namespace plimsoll
