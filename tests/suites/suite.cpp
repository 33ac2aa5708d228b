#include "tests/suites/suite.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/philox.h"
#include "core/cpu/copy.h"
#include "core/engine/trace.h"
#include "ops/ops.h"

namespace plimsoll {

namespace {

// Whether products of matrices are among the case's ops: those that say what they multiply.
bool multiplies(const OpCase& op_case) {
  std::vector<Meta> metas;
  for (const Tensor& input : make_inputs(op_case, DType::f32)) metas.push_back(input.meta());
  return std::ranges::any_of(
      capture(op_case.call, metas).instructions,
      [](const Instruction& instruction) { return instruction.op->flops != nullptr; });
}

std::vector<SuiteParam> make_cases() {
  const char* const way = std::getenv("PLIMSOLL_BF16");
  const bool of_bfloat16 = way && *way;
  std::vector<SuiteParam> params;
  for (const OpFamily& family : all_families())
    for (OpCase& op_case : family.cases().good) {
      if (of_bfloat16) {
        if (std::ranges::count(op_case.dtypes, DType::bf16) == 0 || !multiplies(op_case)) continue;
        op_case.dtypes = {DType::bf16};
      }
      params.push_back({family.name, std::move(op_case)});
    }
  return params;
}

}  // namespace

std::vector<SuiteParam> all_cases() {
  static const std::vector<SuiteParam> cases = make_cases();
  return cases;
}

std::string param_name(const testing::TestParamInfo<SuiteParam>& info) {
  std::string name = info.param.family + "_" + info.param.op_case.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::vector<Tensor> outputs_and_gradients(const OpCase& op_case, std::span<const Tensor> inputs) {
  std::vector<Tensor> leaves, wanted;
  for (const Tensor& x : inputs) {
    const bool real = op_case.differentiable && is_floating(x.dtype());
    leaves.push_back(real ? x.detach().require_grad() : x);
    if (real) wanted.push_back(leaves.back());
  }
  std::vector<Tensor> results = op_case.call(leaves);
  Tensor total;
  uint64_t stream = 0;
  for (const Tensor& y : results) {
    ++stream;
    if (!y.needs_grad()) continue;
    std::vector<float> u;
    for (int64_t i = 0; i < y.count(); ++i)
      u.push_back(unit_float(random_words(7, stream, static_cast<uint64_t>(i))[0]) + 0.5f);
    const Tensor weights = cast(Tensor::of<float>(std::span<const float>(u), y.shape()), y.dtype());
    const Tensor term = sum(cast(y * weights, DType::f64));
    total = total.defined() ? total + term : term;
  }
  for (Tensor& y : results) y = y.detach();
  if (!total.defined()) return results;
  for (const Tensor& g : gradients(total, wanted)) results.push_back(g);
  return results;
}

Tensor as_strided_copy(const Tensor& tensor) {
  // Every second element of a tensor twice as long along each axis, with the axes stored backwards.
  Shape order;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) order.push_back(axis);
  Shape doubled;
  for (const int64_t axis : order) doubled.push_back(2 * tensor.shape()[static_cast<int>(axis)]);
  Tensor view = zeros(doubled, {tensor.dtype(), tensor.device()});
  for (int axis = 0; axis < view.rank(); ++axis)
    view = slice(view, axis, view.shape()[axis] == 0 ? 0 : 1, view.shape()[axis], 2);
  view = permute(view, order);
  const View to = view_of(view.value());
  copy_strided(view_of(tensor.value()), to);
  return view;
}

}  // namespace plimsoll
