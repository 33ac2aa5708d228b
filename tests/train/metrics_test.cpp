// Metrics over uneven batches, early stop, and stopping on request.
#include "train/metrics.h"

#include <gtest/gtest.h>

#include "ops/ops.h"
#include "train/early_stop.h"
#include "train/stop_request.h"

namespace plimsoll::train {
namespace {

// 10 predictions as one batch, as 7 + 3 and as 4 + 4 + 2: the same means; a mean of means is not.
TEST(TrainMetrics, DoNotDependOnHowDataIsCutIntoBatches) {
  const Tensor logits = uniform({10, 5}, -3, 3, /*key=*/1);
  std::vector<int64_t> labels{0, 1, 2, 3, 4, -100, 1, -100, -100, 3};
  const Tensor all = Tensor::of<int64_t>(labels, {10});
  const auto score = [&](std::initializer_list<int64_t> sizes) {
    Score result;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      const Tensor some = contiguous(slice(logits, 0, begin, begin + size)),
                   wanted = contiguous(slice(all, 0, begin, begin + size));
      result.add(cross_entropy(some, wanted), argmax(some, -1), wanted);
      begin += size;
    }
    return result;
  };
  const Score whole = score({10});
  EXPECT_EQ(whole.loss.count, 7);  // -100 counts nowhere
  int64_t right = 0;
  const auto guesses = argmax(logits, -1).to_vector<int64_t>();
  for (size_t i = 0; i < labels.size(); ++i) right += guesses[i] == labels[i];
  EXPECT_EQ(whole.right, right);
  EXPECT_DOUBLE_EQ(whole.accuracy(), double(right) / 7);
  EXPECT_NEAR(whole.loss.value(), cross_entropy(logits, all).item(), 1e-7);
  EXPECT_DOUBLE_EQ(whole.perplexity(), std::exp(whole.loss.value()));
  for (const auto& sizes : {std::initializer_list<int64_t>{7, 3}, {4, 4, 2}, {5, 3, 1, 1}}) {
    const Score parts = score(sizes);  // a batch without labels has no mean, and counts nothing
    EXPECT_NEAR(parts.loss.value(), whole.loss.value(), 1e-6);
    EXPECT_EQ(parts.right, whole.right);
    EXPECT_EQ(parts.loss.count, whole.loss.count);
  }
  EXPECT_EQ(Score().accuracy(), 0);
}

TEST(TrainEarlyStop, CountsEvaluationsWithoutALowerLoss) {
  EarlyStop stop(2);
  EXPECT_TRUE(stop.observe(3));
  EXPECT_FALSE(stop.observe(3));
  EXPECT_FALSE(stop.reached());
  EXPECT_TRUE(stop.observe(2));
  EXPECT_FALSE(stop.observe(std::nan("")));
  EXPECT_FALSE(stop.reached());
  EXPECT_FALSE(stop.observe(2.5));
  EXPECT_TRUE(stop.reached());
  EarlyStop never(0);
  for (int i = 0; i < 100; ++i) never.observe(1);
  EXPECT_FALSE(never.reached());
}

TEST(TrainStopRequest, RemembersTheFirstSignalAndLetsTheSecondThrough) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    const StopRequest stop;
    EXPECT_FALSE(stop.requested());
    std::raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
    sigaction(SIGINT, nullptr, &after);
    EXPECT_EQ(after.sa_handler, SIG_DFL);  // a second one of either kind ends the process
    sigaction(SIGTERM, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, SIGXFSZ, SIGPIPE}) {
    const StopRequest stop;
    std::raise(number);
    EXPECT_TRUE(stop.requested()) << number;
    if (number == SIGPIPE || number == SIGXFSZ) std::raise(number);  // time to save
  }
  sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
  const auto old = std::signal(SIGINT, SIG_IGN);  // as under nohup
  {
    const StopRequest stop;
    EXPECT_FALSE(stop.requested());
    std::raise(SIGINT);
    EXPECT_FALSE(stop.requested());
  }
  std::signal(SIGINT, old);
}

}  // namespace
}  // namespace plimsoll::train
