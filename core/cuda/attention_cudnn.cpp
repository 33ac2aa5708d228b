// cuDNN has no operation for attention: it knows the graphs below by their form, and runs each as
// one kernel (FlashAttention; Dao, arXiv 2307.08691). Everything between their inputs and outputs
// is virtual.
#include "core/cuda/attention.h"

#include <limits>

#include "core/cuda/graph_cudnn.h"

namespace plimsoll::cuda {
namespace {

using Sizes = std::array<int64_t, 4>;
using Tensor = const Descriptor&;

Sizes row_major_strides(const Sizes& s) { return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}; }

// The score of a key that is not to be seen. Before 9.10 cuDNN makes NaN of infinity.
float hidden_score() {
  using Limits = std::numeric_limits<float>;
  return cudnn().cudnnGetVersion() < 91000 ? Limits::lowest() : -Limits::infinity();
}

class Builder {
 public:
  Builder(Graph& graph, const Attention& a)
      : graph_(graph),
        a_(a),
        type_(type_of(a.dtype)),
        scores_{a.batch, a.heads, a.length, a.length} {}

  void forward() {
    Tensor q = operand(a_.q), k = transposed(a_.k), v = operand(a_.v), out = operand(a_.dense());
    Tensor log_sum_exp = column(), scale = graph_.number(), lowest = graph_.number();
    Tensor s = masked(pointwise(CUDNN_POINTWISE_MUL, product(q, k), scale), lowest);
    Tensor highest = reduced(CUDNN_REDUCE_TENSOR_MAX, s);
    Tensor e = pointwise(CUDNN_POINTWISE_EXP, pointwise(CUDNN_POINTWISE_SUB, s, highest));
    Tensor total = reduced(CUDNN_REDUCE_TENSOR_ADD, e);
    Tensor log = virtual_column();
    graph_.pointwise(CUDNN_POINTWISE_LOG, total, nullptr, log);
    graph_.pointwise(CUDNN_POINTWISE_ADD, highest, &log, log_sum_exp);
    Tensor p = virtual_scores(type_);
    graph_.pointwise(CUDNN_POINTWISE_DIV, e, &total, p);
    multiply(p, v, out);
  }

  // ds = p (dp - delta) scale with p = exp(s - log_sum_exp), dp = dout v' and delta = dout . out.
  void gradient() {
    Tensor q = operand(a_.q), k = transposed(a_.k), v = transposed(a_.v);
    Tensor out = operand(a_.dense()), dout = operand(a_.dense()), log_sum_exp = column();
    Tensor dq = operand(a_.dense()), dk = operand(a_.dense()), dv = operand(a_.dense());
    Tensor delta = column(), scale = graph_.number(), lowest = graph_.number();
    Tensor one = graph_.number();
    Tensor both = virtual_tensor(rows_);
    graph_.pointwise(CUDNN_POINTWISE_MUL, dout, &out, both);
    graph_.pointwise(CUDNN_POINTWISE_MUL, reduced(CUDNN_REDUCE_TENSOR_ADD, both), &one, delta);
    Tensor s = pointwise(CUDNN_POINTWISE_MUL, product(q, k), scale);
    Tensor p = pointwise(CUDNN_POINTWISE_EXP,
                         masked(pointwise(CUDNN_POINTWISE_SUB, s, log_sum_exp), lowest));
    multiply(turned(p), dout, dv);
    Tensor dp = pointwise(CUDNN_POINTWISE_SUB, product(dout, v), delta);
    Tensor ds = pointwise(CUDNN_POINTWISE_MUL, pointwise(CUDNN_POINTWISE_MUL, dp, p), scale);
    multiply(turned(ds), q, dk);
    Tensor keys = graph_.tensor(rows_, heads_first(a_.k), CUDNN_DATA_FLOAT, Graph::kVirtual);
    reshape(k, keys);
    multiply(ds, keys, dq);
  }

 private:
  static Sizes heads_first(const Attention::Strides& s) { return {s[0], s[2], s[1], 1}; }

  // x [B, H, T, D], its transpose [B, H, D, T], a number for each row, one for all.
  Tensor operand(const Attention::Strides& s) {
    return graph_.tensor(rows_, heads_first(s), type_);
  }
  Tensor transposed(const Attention::Strides& s) {
    return graph_.tensor(Sizes{a_.batch, a_.heads, a_.features, a_.length},
                         Sizes{s[0], s[2], 1, s[1]}, type_);
  }
  Tensor column() { return graph_.tensor(column_, row_major_strides(column_), CUDNN_DATA_FLOAT); }
  Tensor virtual_tensor(const Sizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph_.tensor(sizes, row_major_strides(sizes), type, Graph::kVirtual);
  }
  Tensor virtual_column() { return virtual_tensor(column_); }
  Tensor virtual_scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return virtual_tensor(scores_, type);
  }

  void multiply(Tensor a, Tensor b, Tensor c) {
    Tensor kind = graph_.part(CUDNN_BACKEND_MATMUL_DESCRIPTOR, [](Descriptor& d) {
      d.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    });
    graph_.operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, [&](Descriptor& op) {
      op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
      op.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
      op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
      op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
    });
  }
  Tensor product(Tensor a, Tensor b) {
    Tensor c = virtual_scores();
    multiply(a, b, c);
    return c;
  }

  Tensor reduced(cudnnReduceTensorOp_t how, Tensor x) {
    Tensor y = virtual_column();
    Tensor kind = graph_.part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, [&](Descriptor& d) {
      d.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
      d.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    });
    graph_.operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, [&](Descriptor& op) {
      op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
      op.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
      op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
    });
    return y;
  }

  Tensor pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b) {
    Tensor y = virtual_scores();
    graph_.pointwise(mode, x, &b, y);
    return y;
  }
  Tensor pointwise(cudnnPointwiseMode_t mode, Tensor x) {
    Tensor y = virtual_scores();
    graph_.pointwise(mode, x, nullptr, y);
    return y;
  }

  // s where the query does not lie before the key, else `lowest`.
  Tensor masked(Tensor s, Tensor lowest) {
    Tensor row = virtual_scores(CUDNN_DATA_INT32), key = virtual_scores(CUDNN_DATA_INT32);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, s, nullptr, row, CUDNN_DATA_INT32, nullptr, 2);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, s, nullptr, key, CUDNN_DATA_INT32, nullptr, 3);
    Tensor seen = virtual_scores(CUDNN_DATA_BOOLEAN), y = virtual_scores();
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, row, &key, seen, CUDNN_DATA_BOOLEAN);
    graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, s, &lowest, y, CUDNN_DATA_FLOAT, &seen);
    return y;
  }

  void reshape(Tensor x, Tensor y) {
    graph_.operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, [&](Descriptor& op) {
      op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
      op.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    });
  }
  Tensor turned(Tensor scores) {
    const int64_t t = a_.length;
    Tensor y = graph_.tensor(scores_, Sizes{a_.heads * t * t, t * t, 1, t}, type_, Graph::kVirtual);
    reshape(scores, y);
    return y;
  }

  Graph& graph_;
  const Attention& a_;
  cudnnDataType_t type_;
  Sizes scores_, rows_{a_.batch, a_.heads, a_.length, a_.features},
      column_{a_.batch, a_.heads, a_.length, 1};
};

std::optional<Plan> plan_of(const Attention& a, const std::string& description) {
  // cuDNN's heuristics divide by all sizes.
  if (a.batch * a.heads * a.length * a.features == 0) return std::nullopt;
  Graph graph;
  try {
    Builder builder(graph, a);
    a.gradient ? builder.gradient() : builder.forward();
  } catch (const DeviceError&) {  // sizes that cuDNN cannot describe
    return std::nullopt;
  }
  return best_plan(graph, description, Rounding::any, kMostAttentionScratch);
}

// Never destroyed: when a process ends the library may have gone before.
Plans<Attention>& plans = *new Plans<Attention>(plan_of);

}  // namespace

std::optional<LibraryPlan> attention_plan(const Attention& a) { return summary(plans.find(a)); }

std::optional<LibraryPlan> attention_plan_for(const Attention& a, const std::string& description) {
  const std::optional<Plan> plan = plan_of(a, description);
  return summary(plan ? &*plan : nullptr);
}

bool attend_by_library(const Attention& a, float scale, std::span<void* const> tensors,
                       std::span<std::byte> workspace) {
  const Plan* const plan = plans.find(a);
  if (!can_execute(plan, tensors, workspace)) return false;
  float lowest = hidden_score(), one = 1;
  std::vector<void*> all(tensors.begin(), tensors.end());
  all.insert(all.end(), {&scale, &lowest});
  if (a.gradient) all.push_back(&one);
  execute(*plan, all, workspace);
  return true;
}

}  // namespace plimsoll::cuda
