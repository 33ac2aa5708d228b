#include "ops/nll_loss/nll_loss.h"

#include "core/apply.h"
#include "core/cpu/parallel.h"
#include "ops/copy/copy.h"
#include "ops/pointwise_loss.h"

namespace plimsoll {
namespace {

struct NllAttrs {
  int64_t ignore_index;
  Reduction reduction;
  Meta log_p;  // the gradient does not need its values
  bool operator==(const NllAttrs&) const = default;
};

// Inputs: log_p, labels and, where there are any, the weights.
Metas nll_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape &x = in[0].shape, &labels = in[1].shape;
  check<DTypeError>(is_floating(in[0].dtype), "nll_loss: a floating type is needed: got ", in[0],
                    ". Cast it first.");
  check<DTypeError>(in[1].dtype == DType::i64, "nll_loss: the labels are not i64: ", in[1],
                    ". Cast them first.");
  check<ShapeError>(
      x.rank() == labels.rank() + 1 && std::equal(labels.begin(), labels.end(), x.begin()),
      "nll_loss: the labels do not fit: ", labels, " for log-probabilities ", x,
      ". Give one label for each row of the last axis.");
  if (in.size() == 3) {
    check<DTypeError>(in[2].dtype == in[0].dtype, "nll_loss: the types differ: ", in[0].dtype,
                      " and weights of ", in[2].dtype, ". Cast one of them.");
    check<ShapeError>(in[2].shape == Shape{x.back()},
                      "nll_loss: the weights do not fit: ", in[2].shape, " for ", x.back(),
                      " classes. Give one weight for each class.");
  }
  const bool rows = attrs.as<NllAttrs>().reduction == Reduction::none;
  return {{rows ? labels : Shape{}, loss_dtype(in[0].dtype), in[0].device}};
}

void check_labels(const View& labels, int64_t classes, int64_t ignore_index) {
  const int64_t* label = labels.as<int64_t>();
  for (int64_t row = 0; row < count(labels.shape()); ++row)
    check<IndexError>(label[row] == ignore_index || (label[row] >= 0 && label[row] < classes),
                      "nll_loss: a label is out of range: ", label[row], " at position ", row,
                      " for ", classes, " classes. Use labels from 0 and below ", classes, ", or ",
                      ignore_index, " for rows to leave out.");
}

// What each row counts.
template <class T>
struct RowWeights {
  const int64_t* label;
  const T* weight;  // nullptr: all classes count 1
  int64_t ignore;

  Compute<T> operator()(int64_t row) const {
    if (label[row] == ignore) return 0;
    return weight ? static_cast<Compute<T>>(weight[label[row]]) : 1;
  }
};

struct Partial {
  double loss, weight;
};

int64_t rows_per_piece() { return grain_for(16); }  // a row is one look far away

int64_t nll_workspace(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  return pieces(count(in[1].shape), rows_per_piece()) * static_cast<int64_t>(sizeof(Partial));
}

void nll_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const int64_t n = call.in[0].shape().back(), rows = count(call.in[1].shape());
  const int64_t step = rows_per_piece();
  check_labels(call.in[1], n, attrs.ignore_index);
  const int64_t* label = call.in[1].as<int64_t>();
  Partial* partial = reinterpret_cast<Partial*>(call.workspace.data());
  visit_floating("nll_loss", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* x = call.in[0].as<T>();
    const RowWeights<T> weights{label, call.in.size() == 3 ? call.in[2].as<T>() : nullptr,
                                attrs.ignore_index};
    C* y = call.out[0].as<C>();
    parallel_for(rows, step, [&](int64_t begin, int64_t end) {
      Partial sum{0, 0};
      for (int64_t row = begin; row < end; ++row) {
        const bool counts = label[row] != attrs.ignore_index;
        const C w = weights(row);
        const C loss = counts ? -w * static_cast<C>(x[row * n + label[row]]) : C(0);
        if (attrs.reduction == Reduction::none) y[row] = loss;
        sum.loss += static_cast<double>(loss);
        sum.weight += static_cast<double>(w);
      }
      partial[begin / step] = sum;
    });
    if (attrs.reduction == Reduction::none) return;
    Partial total{0, 0};
    for (int64_t piece = 0; piece < pieces(rows, step); ++piece) {
      total.loss += partial[piece].loss;
      total.weight += partial[piece].weight;
    }
    const bool mean = attrs.reduction == Reduction::mean;
    *y = static_cast<C>(mean ? total.loss / total.weight : total.loss);
  });
}

// Inputs: dy, labels and weights. Output: the gradient of log_p.
Metas grad_infer(std::span<const Meta>, const Attrs& attrs) { return {attrs.as<NllAttrs>().log_p}; }

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<NllAttrs>();
  const int64_t n = call.out[0].shape().back(), rows = count(call.in[1].shape());
  check_labels(call.in[1], n, attrs.ignore_index);
  const int64_t* label = call.in[1].as<int64_t>();
  visit_floating("nll_loss_grad", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C* dy = call.in[0].as<C>();
    const RowWeights<T> weights{label, call.in.size() == 3 ? call.in[2].as<T>() : nullptr,
                                attrs.ignore_index};
    double divisor = 1;
    if (attrs.reduction == Reduction::mean) {
      divisor = 0;
      for (int64_t row = 0; row < rows; ++row) divisor += static_cast<double>(weights(row));
    }
    const bool each = attrs.reduction == Reduction::none;
    T* dx = call.out[0].as<T>();
    parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * n, dx + end * n, T(0));
      for (int64_t row = begin; row < end; ++row)
        if (label[row] != attrs.ignore_index)
          dx[row * n + label[row]] =
              static_cast<T>(-weights(row) * (dy[each ? row : 0] / static_cast<C>(divisor)));
    });
  });
}

constexpr OpDef grad_op{.name = "nll_loss_grad", .infer = grad_infer, .cpu = grad_cpu};

std::vector<Tensor> nll_vjp(const Backward& b) {
  std::vector<Tensor> in{contiguous(b.grad())}, gradients(static_cast<size_t>(b.inputs()));
  for (int i = 1; i < b.inputs(); ++i) in.push_back(b.input(i));
  gradients[0] = apply(grad_op, in, b.attrs<NllAttrs>())[0];
  return gradients;
}

constexpr OpDef nll_op{.name = "nll_loss",
                       .infer = nll_infer,
                       .cpu = nll_cpu,
                       .vjp = nll_vjp,
                       .saves = {.inputs = bits(1, 2)},
                       .workspace = nll_workspace};

}  // namespace

Tensor nll_loss(const Tensor& log_p, const Tensor& labels, const NllOptions& options) {
  std::vector<Tensor> in{contiguous(log_p), contiguous(labels)};
  if (options.weight.defined()) in.push_back(contiguous(options.weight).detach());
  return apply(nll_op, in, NllAttrs{options.ignore_index, options.reduction, log_p.meta()})[0];
}

extern const std::vector<const OpDef*> nll_loss_ops;
const std::vector<const OpDef*> nll_loss_ops{&nll_op, &grad_op};

}  // namespace plimsoll
