#include "ops/update/accumulate_tree/accumulate_tree.h"

#include <array>

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"
#include "ops/common/weighted_sum.h"
#include "ops/update/accumulate_tree/place.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(accumulate_tree_cuda);

namespace {

constexpr const char* kName = "accumulate_tree";
constexpr int kMostLevels = 16;
constexpr size_t kBefore = 3;  // inputs before the levels: x, weight, part

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  const Device device = in[0].device;
  check_floating(kName, in[0]);
  check<DTypeError>(in[1] == Meta{{}, DType::f64, device}, kName,
                    ": the weight is no scalar of f64: got ", in[1],
                    ". Use full({}, value, {.dtype = DType::f64}).");
  check<DTypeError>(in[2] == Meta{{1}, DType::i64, device}, kName, ": the part is no number: got ",
                    in[2], ". Give it as i64 [1].");
  check<ValueError>(
      attrs.as<TreeSum>().block >= 1 && in.size() > kBefore && in.size() <= kBefore + kMostLevels,
      kName, ": blocks of ", attrs.as<TreeSum>().block, " in ", in.size() - kBefore,
      " levels are no tree. Use blocks of 1 or more, and 1 to ", kMostLevels, " levels.");
  for (const Meta& level : in.subspan(kBefore)) check_state(kName, "sum", in[0], level);
  return {};
}

template <class T>
void add_typed(const Call& call) {
  using C = Compute<T>;
  const auto [size, last] = call.attrs.as<TreeSum>();
  const std::span<const View> views = call.in.subspan(kBefore);
  const int levels = static_cast<int>(views.size()) - 1;
  const int64_t part = *call.in[2].as<int64_t>();
  check<IndexError>(part >= 0 && part < size << levels, kName, ": there is no part ", part, " in ",
                    int64_t{1} << levels, " blocks of ", size, ". Count from 0.");
  const auto place = accumulate_tree_detail::place_of(part, size, levels, last);
  const double weight = *call.in[1].as<double>();
  const WeightedSum<C> sum{
      .weight = static_cast<C>(weight), .adds = !place.first, .counts = weight != 0};
  const T* x = call.in[0].as<T>();
  std::array<C*, kMostLevels> sums{};
  for (int i = 0; i <= levels; ++i)
    sums[static_cast<size_t>(i)] = views[static_cast<size_t>(i)].as<C>();
  C* under_way = sums[static_cast<size_t>(place.target)];
  const int top = last ? levels : accumulate_tree_detail::level_of(place.block);
  C* complete = sums[static_cast<size_t>(top)];
  parallel_for(count(call.in[0].shape()), grain_for(1), [=](int64_t begin, int64_t end) {
    sum.add(under_way, x, begin, end);
    if (!place.completes) return;
    const C* from = under_way;
    for (int level = 0; level < top; ++level) {
      const C* left = (place.block >> level) % 2 == 1 ? sums[static_cast<size_t>(level)] : nullptr;
      // A missing neighbour on the right is a zero, which makes -0 a +0 on any number of ranks.
      if (left)
        for (int64_t i = begin; i < end; ++i) complete[i] = left[i] + from[i];
      else
        for (int64_t i = begin; i < end; ++i) complete[i] = from[i] + C(0);
      from = complete;
    }
  });
}

void cpu(const Call& call) {
  visit_floating(kName, call.in[0].dtype(), [&]<class T>() { add_typed<T>(call); });
}

constexpr OpDef accumulate_tree_op{.name = kName,
                                   .infer = infer,
                                   .cpu = cpu,
                                   .cuda = accumulate_tree_cuda,
                                   .mutates = everything & ~bits(0, 1, 2),
                                   .widens = bits(0)};

}  // namespace

void accumulate_tree(std::span<const Tensor> levels, const Tensor& x, const Tensor& weight,
                     const Tensor& part, const TreeSum& options) {
  std::vector<Tensor> inputs{contiguous(x), weight, part};
  inputs.insert(inputs.end(), levels.begin(), levels.end());
  apply(accumulate_tree_op, inputs, options);
}

extern const std::vector<const OpDef*> accumulate_tree_ops{&accumulate_tree_op};

}  // namespace plimsoll
