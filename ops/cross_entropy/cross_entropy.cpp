#include "ops/cross_entropy/cross_entropy.h"

#include <limits>

#include "core/apply.h"
#include "core/cpu/math.h"
#include "core/cpu/parallel.h"
#include "ops/copy/copy.h"

namespace plimsoll {
namespace {

struct CrossEntropyAttrs {
  int64_t ignore_index;
  bool operator==(const CrossEntropyAttrs&) const = default;
};

// Inputs: logits [..., C], labels [...]. Outputs: the loss [] and log(sum_c exp(logits)) [...], in
// f64 because probabilities are taken from its difference to the logits.
Metas cross_entropy_infer(std::span<const Meta> in, const Attrs&) {
  const Shape &x = in[0].shape, &labels = in[1].shape;
  check<DTypeError>(is_floating(in[0].dtype),
                    "cross_entropy: the logits are not of a floating type: ", in[0],
                    ". Cast them first.");
  check<DTypeError>(in[1].dtype == DType::i64, "cross_entropy: the labels are not i64: ", in[1],
                    ". Cast them first.");
  check<ShapeError>(
      x.rank() == labels.rank() + 1 && std::equal(labels.begin(), labels.end(), x.begin()),
      "cross_entropy: the labels do not fit: ", labels, " for logits ", x,
      ". Give one label for each row of the last axis.");
  const DType wide = in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  return {{{}, wide, in[0].device}, {labels, DType::f64, in[0].device}};
}

// Refuses labels that are no class, and counts those that matter.
int64_t counted(const View& labels, int64_t classes, int64_t ignore_index) {
  const int64_t* label = labels.as<int64_t>();
  int64_t total = 0;
  for (int64_t row = 0; row < count(labels.shape()); ++row) {
    if (label[row] == ignore_index) continue;
    check<IndexError>(label[row] >= 0 && label[row] < classes,
                      "cross_entropy: a label is out of range: ", label[row], " at position ", row,
                      " for ", classes, " classes. Use labels from 0 and below ", classes, ", or ",
                      ignore_index, " for rows to leave out.");
    ++total;
  }
  return total;
}

// x_max and log(sum_c exp(x_c - x_max)) of one row. Apart they lose nothing, however large x is.
template <class T>
std::pair<Compute<T>, Compute<T>> log_sum_exp(const T* x, int64_t n) {
  using C = Compute<T>;
  C m = -std::numeric_limits<C>::infinity(), total = 0;
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) {
    const C v = static_cast<C>(x[i]);
    m = v > m ? v : m;
  }
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += math::exp(static_cast<C>(x[i]) - m);
  return {m, std::log(total)};
}

int64_t rows_per_piece(int64_t classes) { return grain_for(4 * classes); }

// One partial loss per piece of rows.
int64_t cross_entropy_workspace(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  return pieces(count(in[1].shape), rows_per_piece(in[0].shape.back())) *
         static_cast<int64_t>(sizeof(double));
}

void cross_entropy_cpu(const Call& call) {
  const int64_t ignore = call.attrs.as<CrossEntropyAttrs>().ignore_index;
  const int64_t n = call.in[0].shape().back(), rows = count(call.in[1].shape());
  const int64_t step = rows_per_piece(n);
  const int64_t total = counted(call.in[1], n, ignore);
  const int64_t* label = call.in[1].as<int64_t>();
  double* partial = reinterpret_cast<double*>(call.workspace.data());
  visit_floating("cross_entropy", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* x = call.in[0].as<T>();
    double* log_sums = call.out[1].as<double>();
    parallel_for(rows, step, [&](int64_t begin, int64_t end) {
      double loss = 0;
      for (int64_t row = begin; row < end; ++row) {
        const auto [m, log_sum] = log_sum_exp(x + row * n, n);
        log_sums[row] = static_cast<double>(m) + static_cast<double>(log_sum);
        if (label[row] == ignore) continue;
        loss += static_cast<double>(log_sum) +
                (static_cast<double>(m) - static_cast<double>(x[row * n + label[row]]));
      }
      partial[begin / step] = loss;
    });
    double loss = 0;
    for (int64_t piece = 0; piece < pieces(rows, step); ++piece) loss += partial[piece];
    *call.out[0].as<C>() = static_cast<C>(loss / static_cast<double>(total));
  });
}

// Inputs: dy [], logits, labels, log-sum-exp. Output: the gradient of the logits.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1]}; }

void grad_cpu(const Call& call) {
  const int64_t ignore = call.attrs.as<CrossEntropyAttrs>().ignore_index;
  const int64_t n = call.in[1].shape().back(), rows = count(call.in[2].shape());
  const int64_t total = counted(call.in[2], n, ignore);
  const int64_t* label = call.in[2].as<int64_t>();
  visit_floating("cross_entropy_grad", call.in[1].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* logits = call.in[1].as<T>();
    const double* log_sums = call.in[3].as<double>();
    T* dx = call.out[0].as<T>();
    const C scale = *call.in[0].as<C>() / static_cast<C>(total);
    parallel_for(rows, rows_per_piece(n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* x = logits + row * n;
        T* d = dx + row * n;
        if (label[row] == ignore) {
          std::fill_n(d, n, T(0));
          continue;
        }
        const C high = static_cast<C>(log_sums[row]);
        const C rest = static_cast<C>(log_sums[row] - static_cast<double>(high));
        const C at_label = math::exp(static_cast<C>(x[label[row]]) - high - rest);  // d may be x
#pragma omp simd
        for (int64_t i = 0; i < n; ++i)
          d[i] = static_cast<T>(math::exp(static_cast<C>(x[i]) - high - rest) * scale);
        d[label[row]] = static_cast<T>((at_label - 1) * scale);
      }
    });
  });
}

constexpr OpDef grad_op{
    .name = "cross_entropy_grad", .infer = grad_infer, .cpu = grad_cpu, .inplace = 1};

std::vector<Tensor> cross_entropy_vjp(const Backward& b) {
  return {apply1(grad_op, {b.grad(), b.input(0), b.input(1), b.output(1)},
                 b.attrs<CrossEntropyAttrs>()),
          Tensor()};
}

constexpr OpDef cross_entropy_op{.name = "cross_entropy",
                                 .infer = cross_entropy_infer,
                                 .cpu = cross_entropy_cpu,
                                 .vjp = cross_entropy_vjp,
                                 .saves = {.inputs = bits(0, 1), .outputs = bits(1)},
                                 .workspace = cross_entropy_workspace};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, int64_t ignore_index) {
  return apply(cross_entropy_op, {contiguous(logits), contiguous(labels)},
               CrossEntropyAttrs{ignore_index})[0];
}

extern const std::vector<const OpDef*> cross_entropy_ops;
const std::vector<const OpDef*> cross_entropy_ops{&cross_entropy_op, &grad_op};

}  // namespace plimsoll
