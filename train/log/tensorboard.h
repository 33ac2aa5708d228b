// Curves of a run as event files, for `tensorboard --logdir FOLDER`.
//
//   TensorBoard board(options.tensorboard);  // its folder
//   board.trained(step, loss, learning_rate);
//   board.evaluated(step, {{"accuracy", 0.98}});
//   board.memory(step, pool.stats().peak);
//   board.histogram("gradients/head.weight", gradient, step);
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "formats/events.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::train {

class TensorBoard {
 public:
  // An empty folder: nothing is written. UsageError when the files cannot be made there.
  explicit TensorBoard(const std::string& folder);

  // "train/...".
  void trained(int64_t step, double loss, double learning_rate);
  // "evaluation/..."
  void evaluated(int64_t step, const std::vector<std::pair<std::string, double>>& figures);
  // The most bytes in use, and what held them then: "memory/peak" and one curve for each class.
  void memory(int64_t step, const Peak& peak);
  void histogram(const std::string& tag, const Tensor& values, int64_t step);
  // The run goes on after `step` steps: what was written of later ones is not shown any more.
  void resumed(int64_t step);

 private:
  std::optional<formats::EventWriter> events_;
};

}  // namespace plimsoll::train
