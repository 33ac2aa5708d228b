#include <algorithm>
#include <array>

#include "core/cuda/convolution.h"
#include "core/cuda/graph_cudnn.h"

namespace plimsoll::cuda {
namespace {

using Kind = Convolution::Kind;
using Sizes = std::array<int64_t, 4>;

// cuDNN names the axes N, C, H, W however they lie in memory; here channels are the innermost.
Sizes channels_last(const Sizes& nchw) {
  return {nchw[1] * nchw[2] * nchw[3], 1, nchw[1] * nchw[3], nchw[1]};
}

// cuDNN has an operation of its own for each kind, and each has names of its own for the same.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t windows, x, w, y, alpha, beta;
};
constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};
static_assert(static_cast<int>(Kind::forward) == 0 && static_cast<int>(Kind::input_grad) == 1 &&
              static_cast<int>(Kind::weight_grad) == 2);

const Descriptor& windows(Graph& graph, const Convolution& v) {
  const auto after = [](int64_t in, int64_t out, int64_t taps, int64_t stride, int64_t before,
                        int64_t dilation) {  // the padding that the last window needs
    return std::max<int64_t>(0, (out - 1) * stride + (taps - 1) * dilation + 1 - in - before);
  };
  const std::array<int64_t, 2> rest{
      after(v.h, v.p, v.kh, v.stride[0], v.padding[0], v.dilation[0]),
      after(v.w, v.q, v.kw, v.stride[1], v.padding[1], v.dilation[1])};
  return graph.part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, [&](Descriptor& d) {
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, v.padding);
    d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, rest);
    d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, v.dilation);
    d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, v.stride);
  });
}

void convolve(Graph& graph, const Convolution& v, const Descriptor& x, const Descriptor& w,
              const Descriptor& y) {
  const Names& names = kNames[static_cast<int>(v.kind)];
  const Descriptor& moves = windows(graph, v);
  graph.operation(names.operation, [&](Descriptor& op) {
    const float one = 1, zero = 0;
    op.set(names.windows, moves);
    op.set(names.x, x);
    op.set(names.w, w);
    op.set(names.y, y);
    op.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
    op.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
  });
}

// Tensors in memory are made in the order in which convolve_by_library() is given them.
void build(Graph& graph, const Convolution& v) {
  const cudnnDataType_t type = type_of(v.dtype);
  const auto tensor = [&](const Sizes& sizes) -> const Descriptor& {
    return graph.tensor(sizes, channels_last(sizes), type);
  };
  const Sizes x{v.n, v.c, v.h, v.w}, w{v.o, v.c / v.groups, v.kh, v.kw}, y{v.n, v.o, v.p, v.q};
  if (v.kind == Kind::input_grad) {
    const Descriptor &dy = tensor(y), &filters = tensor(w), &dx = tensor(x);
    return convolve(graph, v, dx, filters, dy);
  }
  const Descriptor& image = tensor(x);
  if (v.kind == Kind::weight_grad) {
    const Descriptor &dy = tensor(y), &dw = tensor(w);
    return convolve(graph, v, image, dw, dy);
  }
  const Descriptor& filters = tensor(w);
  if (!v.bias) return convolve(graph, v, image, filters, tensor(y));
  const Descriptor &bias = tensor({1, v.o, 1, 1}), &out = tensor(y);
  // Rounded once: the sum is f32 and stays in registers.
  const Descriptor& sum = graph.tensor(y, channels_last(y), CUDNN_DATA_FLOAT, Graph::kVirtual);
  convolve(graph, v, image, filters, sum);
  graph.pointwise(CUDNN_POINTWISE_ADD, sum, &bias, out);
}

std::optional<Plan> plan_of(const Convolution& v, const std::string& description) {
  const bool empty =
      v.n * v.h * v.w * v.c * v.o * v.p * v.q == 0;  // which cuDNN's heuristics divide by
  if (v.dtype == DType::f64 || empty) return std::nullopt;
  Graph graph;
  try {
    build(graph, v);
  } catch (const DeviceError&) {  // sizes that cuDNN cannot describe
    return std::nullopt;
  }
  const Rounding f32 = v.tf32 ? Rounding::tf32 : Rounding::none;
  return best_plan(graph, description, v.dtype == DType::f32 ? f32 : Rounding::any, kMostScratch);
}

// Never destroyed: when a process ends the library may have gone before.
Plans<Convolution>& plans = *new Plans<Convolution>(plan_of);

const Plan* plan_for(Convolution v) {
  v.tf32 = v.dtype == DType::f32 && tf32_wanted();
  return plans.find(v);
}

}  // namespace

std::optional<LibraryPlan> convolution_plan(const Convolution& v) { return summary(plan_for(v)); }

std::optional<LibraryPlan> convolution_plan_for(const Convolution& v,
                                                const std::string& description) {
  const std::optional<Plan> plan = plan_of(v, description);
  return summary(plan ? &*plan : nullptr);
}

int64_t cudnn_version() { return static_cast<int64_t>(cudnn().cudnnGetVersion()); }

bool convolve_by_library(const Convolution& v, std::span<void* const> tensors,
                         std::span<std::byte> workspace) {
  const Plan* const plan = plan_for(v);
  if (!can_execute(plan, tensors, workspace)) return false;
  execute(*plan, tensors, workspace);
  return true;
}

}  // namespace plimsoll::cuda
