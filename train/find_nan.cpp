#include "train/find_nan.h"

#include "core/engine/first_nonfinite.h"

namespace plimsoll::train {
namespace {

ApplyMode mode_of(const TrainOptions& options) {
  ApplyMode mode = apply_mode();
  mode.check_finite = options.find_nan;
  return mode;
}

}  // namespace

FindNan::FindNan(const TrainOptions& options, const optim::LossScaler& scaler, Tensor steps)
    : scope_(mode_of(options)),
      dynamic_(loss_scale_of(options) == "dynamic"),
      steps_(std::move(steps)) {
  if (options.find_nan) scale_ = scaler.current();
}

Runner::Trained FindNan::watch(int64_t number, bool last,
                               const std::function<Runner::Trained()>& run) {
  if (!scale_.defined() || scale_.item() <= 1) return run();
  const auto made = steps_.item<int64_t>();
  const FirstNonfinite first;
  Runner::Trained trained = run();
  const std::string here =
      first.text().empty() ? "" : cat("train: in batch ", number + 1, ": ", first.text());
  check<NumericError>(here.empty() || trained.loss.finite(), here);
  check<NumericError>(here.empty() || dynamic_, here,
                      " The loss is finite: a lower loss scale may help.");
  if (found_.empty()) found_ = here;
  if (!last) return trained;
  check<NumericError>(found_.empty() || steps_.item<int64_t>() == made, found_);
  found_.clear();
  return trained;
}

}  // namespace plimsoll::train
