#include "core/cuda/norm.h"

#include <array>
#include <vector>

#include "core/cuda/graph_cudnn.h"

namespace plimsoll::cuda {
namespace {

using Sizes = std::array<int64_t, 4>;

// Rows are images of one pixel, with the channels innermost. Tensors are made in the order in which
// norm_by_library() is given them; eps is the last.
void build(Graph& graph, const Norm& v) {
  const Sizes rows{v.rows, v.channels, 1, 1}, one_row{1, v.channels, 1, 1};
  const Sizes strides{v.channels, 1, v.channels, v.channels};
  const auto matrix = [&]() -> const Descriptor& {
    return graph.tensor(rows, strides, type_of(v.dtype));
  };
  const auto row = [&]() -> const Descriptor& {
    return graph.tensor(one_row, strides, CUDNN_DATA_FLOAT);
  };
  const auto between = [&]() -> const Descriptor& {
    return graph.tensor(rows, strides, CUDNN_DATA_FLOAT, Graph::kVirtual);
  };
  const Descriptor &x = matrix(), &gamma = row(), &beta = row();
  const Descriptor* const residual = v.residual ? &matrix() : nullptr;
  const Descriptor &y = matrix(), &mean = row(), &inverse = row();
  const Descriptor& eps = graph.number(1e-5f);
  const Descriptor& normal = v.relu ? between() : y;
  graph.operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, [&](Descriptor& op) {
    const cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
    const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, gamma);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, beta);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, eps);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse);
    op.set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, normal);
  });
  if (!v.relu) return;
  const Descriptor& sum = residual ? between() : normal;
  if (residual) graph.pointwise(CUDNN_POINTWISE_ADD, normal, residual, sum);
  graph.pointwise(CUDNN_POINTWISE_RELU_FWD, sum, nullptr, y);
}

std::optional<Plan> plan_of(const Norm& v, const Target& target) {
  if (v.rows * v.channels == 0) return std::nullopt;
  Graph graph;
  try {
    build(graph, v);
  } catch (const DeviceError&) {  // sizes that cuDNN cannot describe
    return std::nullopt;
  }
  const std::string name = cat("batch norm ", v.dtype, " ", v.rows, " ", v.channels,
                               v.residual ? " add" : "", v.relu ? " relu" : "");
  return best_plan(graph, name, target, v.dtype == DType::f32 ? Rounding::none : Rounding::any,
                   kMostNormScratch);
}

// Never destroyed: when a process ends the library may have gone before.
Plans<Norm>& plans = *new Plans<Norm>([](const Norm& v) { return plan_of(v, {}); });

}  // namespace

std::optional<LibraryPlan> norm_plan(const Norm& v) { return summary(plans.find(v)); }

std::optional<LibraryPlan> norm_plan_for(const Norm& v, const std::string& description) {
  const std::optional<Plan> plan = plan_of(v, {description});
  return summary(plan ? &*plan : nullptr);
}

std::function<void()> norm_by_library(const Norm& v, float eps, std::span<void* const> tensors,
                                      std::span<std::byte> workspace) {
  const Plan* const plan = plans.find(v);
  if (!can_execute(plan, tensors, workspace)) return {};
  const std::vector<void*> in_memory(tensors.begin(), tensors.end());
  return [=] {
    float value = eps;
    std::vector<void*> all = in_memory;
    all.push_back(&value);
    execute(*plan, all, workspace);
  };
}

}  // namespace plimsoll::cuda
