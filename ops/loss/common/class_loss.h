// What losses of class labels share: the checks, what each row counts, and how rows become a loss.
//
//   const RowWeights<float> weights(call.in[1], weight, ignore_index);
//   sum_losses(rows, step, each, partial, [&](int64_t row) { return weights(row) * ...; });
#pragma once

#include "core/cpu/parallel.h"
#include "core/engine/call.h"
#include "ops/common/expect.h"
#include "ops/loss/common/reduction.h"

namespace plimsoll {

// The scores [..., C] are of a floating type, the labels [...] i64, the weights [C], if any, of the
// type of the losses. DTypeError, ShapeError; `what` is the name of the scores.
void check_classes(const char* op, const char* what, const Meta& scores, const Meta& labels,
                   const Meta* weight);

// The weights as such a loss takes them: in the type of the losses and off the tape. Undefined:
// undefined.
Tensor class_weights(const Tensor& weight, const Tensor& scores);

// IndexError: the one at `position` is neither a class nor ignore_index.
[[noreturn]] void throw_bad_label(const char* op, int64_t position, int64_t label, int64_t classes,
                                  int64_t ignore_index);
// The same for the first such label.
void check_labels(const char* op, const View& labels, int64_t classes, int64_t ignore_index);

// What each row counts: the weight of its label; nothing where that is ignore_index.
template <class C>
struct RowWeights {
  const int64_t* label;
  const C* weight;  // nullptr: all classes count 1
  int64_t ignore_index;

  RowWeights(const View& labels, const View* weights, int64_t ignored)
      : label(labels.as<int64_t>()),
        weight(weights ? weights->as<C>() : nullptr),
        ignore_index(ignored) {}

  bool counts(int64_t row) const { return label[row] != ignore_index; }
  C operator()(int64_t row) const {
    if (!counts(row)) return 0;
    return weight ? weight[label[row]] : C(1);
  }
  // What the sum of `rows` losses is divided by.
  double divisor(int64_t rows, Reduction reduction) const {
    double total = 0;
    if (reduction != Reduction::mean) return 1;
    for (int64_t row = 0; row < rows; ++row) total += static_cast<double>((*this)(row));
    return total;
  }
};

// partial[k] = the sum of loss(row), in double, over piece k of `step` rows; each[row] = loss(row)
// unless `each` is nullptr.
template <class C, class F>
void sum_losses(int64_t rows, int64_t step, C* each, double* partial, const F& loss) {
  parallel_for(rows, step, [&](int64_t begin, int64_t end) {
    double total = 0;
    for (int64_t row = begin; row < end; ++row) {
      const double value = loss(row);
      if (each) each[row] = static_cast<C>(value);
      total += value;
    }
    partial[begin / step] = total;
  });
}

// The sum of the n partial sums, over the divisor.
inline double reduced_loss(const double* partial, int64_t n, double divisor) {
  double total = 0;
  for (int64_t k = 0; k < n; ++k) total += partial[k];
  return total / divisor;
}

// The losses of all rows as the op returns them in y.
template <class C, class F>
void write_losses(const RowWeights<C>& weights, int64_t rows, int64_t step, Reduction reduction,
                  double* partial, C* y, const F& loss) {
  const bool none = reduction == Reduction::none;
  sum_losses(rows, step, none ? y : nullptr, partial, loss);
  if (!none)
    *y =
        static_cast<C>(reduced_loss(partial, pieces(rows, step), weights.divisor(rows, reduction)));
}

inline Meta losses_of(const Meta& labels, DType scores, Reduction reduction) {
  return {reduction == Reduction::none ? labels.shape : Shape{}, compute_dtype(scores),
          labels.device};
}

// Bytes of a double for each of so many pieces of rows; on a GPU, for each row.
inline int64_t losses_bytes(const View& labels, int64_t step) {
  const int64_t rows = count(labels.shape());
  return (labels.device() == Device::cuda ? rows : pieces(rows, step)) *
         static_cast<int64_t>(sizeof(double));
}

// Of a gradient: a GPU keeps what it is divided by.
inline int64_t divisor_workspace(const Call& call) {
  return call.in[0].device() == Device::cuda ? static_cast<int64_t>(sizeof(double)) : 0;
}

}  // namespace plimsoll
