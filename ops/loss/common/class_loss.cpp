#include "ops/loss/common/class_loss.h"

#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

void check_classes(const char* op, const char* what, const Meta& scores, const Meta& labels,
                   const Meta* weight) {
  const Shape& x = scores.shape;
  check<DTypeError>(is_floating(scores.dtype), op, ": the ", what,
                    " are not of a floating type: ", scores, ". Cast them first.");
  check<DTypeError>(labels.dtype == DType::i64, op, ": the labels are not i64: ", labels,
                    ". Cast them first.");
  check<ShapeError>(x.rank() == labels.shape.rank() + 1 &&
                        std::equal(labels.shape.begin(), labels.shape.end(), x.begin()),
                    op, ": the labels do not fit: ", labels.shape, " for ", what, " ", x,
                    ". Give one label for each row of the last axis.");
  if (!weight) return;
  check<ShapeError>(weight->shape == Shape{x.back()}, op,
                    ": the weights do not fit: ", weight->shape, " for ", x.back(),
                    " classes. Give one weight for each class.");
}

Tensor class_weights(const Tensor& weight, const Tensor& scores) {
  if (!weight.defined()) return weight;
  return contiguous(cast(weight.detach(), compute_dtype(scores.dtype())));
}

void throw_bad_label(const char* op, int64_t position, int64_t label, int64_t classes,
                     int64_t ignore_index) {
  fail<IndexError>(op, ": a label is out of range: ", label, " at position ", position, " for ",
                   classes, " classes. Use labels from 0 and below ", classes, ", or ",
                   ignore_index, " for rows to leave out.");
}

void check_labels(const char* op, const View& labels, int64_t classes, int64_t ignore_index) {
  const int64_t* label = labels.as<int64_t>();
  for (int64_t row = 0; row < count(labels.shape()); ++row)
    if (label[row] != ignore_index && (label[row] < 0 || label[row] >= classes)) [[unlikely]]
      throw_bad_label(op, row, label[row], classes, ignore_index);
}

}  // namespace plimsoll
