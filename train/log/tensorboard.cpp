#include "train/log/tensorboard.h"

namespace plimsoll::train {

TensorBoard::TensorBoard(const std::string& folder) {
  if (folder.empty()) return;
  try {
    events_.emplace(folder);
  } catch (const DataError& e) {
    fail<UsageError>("tensorboard: ", e.what());
  }
}

void TensorBoard::trained(int64_t step, double loss, double learning_rate) {
  if (!events_) return;
  events_->scalar("train/loss", loss, step);
  events_->scalar("train/learning_rate", learning_rate, step);
}

void TensorBoard::evaluated(int64_t step,
                            const std::vector<std::pair<std::string, double>>& figures) {
  if (!events_) return;
  for (const auto& [name, value] : figures) events_->scalar(cat("evaluation/", name), value, step);
}

void TensorBoard::histogram(const std::string& tag, const Tensor& values, int64_t step) {
  if (events_) events_->histogram(tag, values, step);
}

void TensorBoard::resumed(int64_t step) {
  if (events_) events_->restart(step + 1);
}

void TensorBoard::memory(int64_t step, const Peak& peak) {
  if (!events_) return;
  events_->scalar("memory/peak", static_cast<double>(peak.bytes), step);
  for (int c = 0; c < kMemoryClasses; ++c)
    events_->scalar(cat("memory/", name_of(static_cast<MemoryClass>(c))),
                    static_cast<double>(peak.by_class[static_cast<size_t>(c)]), step);
}

}  // namespace plimsoll::train
