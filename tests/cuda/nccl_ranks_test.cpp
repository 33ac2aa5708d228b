// Ranks over NCCL, with a library of its name (simulated/nccl.cpp) between processes that have a
// simulated GPU each: bytes, order, what goes wrong, and a training with the bits of one rank.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "core/cuda/seam/cuda_queue.h"
#include "core/cuda/seam/cuda_ranks.h"
#include "core/engine/transfer.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/cuda/processes.h"
#include "tests/cuda/simulated/living.h"
#include "tests/train/rank_training.h"

namespace plimsoll {
namespace {

using Body = std::function<std::string(Ranks&)>;

// On GPUs of n processes.
std::vector<Ended> on_gpus(int n, double timeout, const Body& body) {
  return run_processes(n, [&](std::unique_ptr<Ranks> ranks) {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    open_on(Device::cuda, timeout, ranks);
    const RanksScope scope(ranks.get());
    std::string left = body(*ranks);
    ranks->close();
    return left;
  });
}

void expect_all(const std::vector<Ended>& ended, const std::string& left) {
  for (const Ended& rank : ended) {
    EXPECT_EQ(rank.code, 0) << rank.said;
    EXPECT_EQ(rank.left, left);
  }
}

std::string text_of(const Tensor& x) {
  std::string text;
  for (const float value : x.to_vector<float>()) text += cat(value, " ");
  return text;
}

// count numbers of rank r: 1000 r, 1000 r + 1, ...
Tensor numbers(int64_t rank, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<float>(1000 * rank));
  return to_device(Tensor::of<float>(values, {count}), Device::cuda);
}

Tensor twice(const Tensor& x) { return add(x, x); }

std::string expected(int n, int64_t count, const std::function<double(int, int64_t)>& f) {
  std::string text;
  for (int r = 0; r < n; ++r)
    for (int64_t i = 0; i < count; ++i) text += cat(static_cast<float>(f(r, i)), " ");
  return text;
}

// What is sent is computed by kernels that have not run yet, and what is received is read by some
// that are queued before it is there.
TEST(NcclRanks, GatherBehindAndBeforeKernels) {
  for (const int n : {2, 4})
    expect_all(on_gpus(n, 30,
                       [](Ranks& ranks) {
                         const Tensor x = twice(numbers(ranks.rank(), 37));
                         return text_of(twice(all_gather(x)));
                       }),
               expected(n, 37, [](int r, int64_t i) { return 4.0 * (1000.0 * r + i); }));
}

TEST(NcclRanks, GatherInPlace) {
  expect_all(on_gpus(4, 30,
                     [](Ranks& ranks) {
                       const Tensor parts = to_device(zeros({4, 5}), Device::cuda);
                       const Tensor own = numbers(ranks.rank(), 5);
                       copy_view(view_of(own.value()),
                                 view_of(slice(parts, 0, ranks.rank(), ranks.rank() + 1).value()));
                       all_gather_in_place(parts);
                       return text_of(parts);
                     }),
             expected(4, 5, [](int r, int64_t i) { return 1000.0 * r + i; }));
}

TEST(NcclRanks, ExchangeParts) {
  for (const int n : {2, 4}) {
    const std::vector<Ended> ended = on_gpus(n, 30, [n](Ranks& ranks) {
      return text_of(all_to_all(reshape(numbers(ranks.rank(), 3 * n), {n, 3})));
    });
    for (int rank = 0; rank < n; ++rank) {
      const auto& [code, said, left] = ended[static_cast<size_t>(rank)];
      EXPECT_EQ(code, 0) << said;
      EXPECT_EQ(left, expected(n, 3, [&](int r, int64_t i) { return 1000.0 * r + 3 * rank + i; }));
    }
  }
}

TEST(NcclRanks, Broadcast) {
  for (const int n : {2, 4})
    expect_all(
        on_gpus(n, 30,
                [n](Ranks& ranks) { return text_of(broadcast(numbers(ranks.rank(), 6), n - 1)); }),
        expected(1, 6, [&](int, int64_t i) { return 1000.0 * (n - 1) + i; }));
}

// One after another without a wait, waited for by where they come to.
TEST(NcclRanks, HaveManyInFlight) {
  expect_all(on_gpus(2, 30,
                     [](Ranks& ranks) {
                       std::vector<Tensor> all, own;
                       for (int64_t i = 0; i < 20; ++i) {
                         own.push_back(abs(numbers(ranks.rank(), i + 1)));
                         all.push_back(Tensor::empty({{2, i + 1}, DType::f32, Device::cuda}));
                         ranks.start({Collective::Kind::all_gather, view_of(own[i].value()).data,
                                      view_of(all[i].value()).data, 4 * (i + 1), 0, Device::cuda});
                       }
                       std::string text;
                       for (const int64_t i : {7, 19, 0}) {
                         ranks.wait_for(view_of(all[i].value()).data);
                         text += text_of(sum(all[i]));
                       }
                       return text;
                     }),
             "8056 20380 1000 ");
}

TEST(NcclRanks, MoveMemoryOfTheHostByTheHostsRanks) {
  expect_all(on_gpus(2, 30,
                     [](Ranks& ranks) {
                       const std::vector<int64_t> all = gathered(ranks, 5 + ranks.rank());
                       return cat(all[0], " ", all[1]);
                     }),
             "5 6");
}

// All ranks record the same: no collectives.
TEST(NcclRanks, AreNotPartOfAGraph) {
  expect_all(on_gpus(2, 30,
                     [](Ranks& ranks) {
                       const auto launches = [](const auto& f, const Tensor& x) {
                         Step step(f, {.graph = true});
                         const int64_t before = cuda_queue().counts().launches;
                         for (int i = 0; i < 4; ++i) step(x);
                         return cuda_queue().counts().launches - before;
                       };
                       const Tensor x = numbers(ranks.rank(), 4);
                       const int64_t alone =
                           launches([](const Tensor& x) { return std::vector{twice(x)}; }, x);
                       const int64_t together = launches(
                           [](const Tensor& x) { return std::vector{all_gather(twice(x))}; }, x);
                       return cat(alone > 0, " ", together);
                     }),
             "true 0");
}

void expect_said(const Ended& rank, int code, const std::string& sentence) {
  EXPECT_EQ(rank.code, code) << rank.said;
  EXPECT_NE(rank.said.find(sentence), std::string::npos) << rank.said;
}

// What NCCL would hang for, its stand-in finds: so such a program fails in these tests.
TEST(NcclRanks, AreFoundOutWhereTheyCallDifferentThings) {
  const std::vector<Ended> sizes = on_gpus(2, 30, [](Ranks& ranks) {
    ranks.note("in the batches 9 to 16", 1);
    return text_of(all_gather(numbers(ranks.rank(), 4 + ranks.rank())));
  });
  for (int r = 0; r < 2; ++r) {
    const Ended& rank = sizes[static_cast<size_t>(r)];
    expect_said(rank, 1, "NCCL's stand-in: rank ");
    expect_said(rank, 1,
                cat("rank ", r, " of 2: in all_gather of ", 4 * (4 + r),
                    " bytes between GPUs, its collective number 1, in the batches 9 to 16, NCCL "
                    "met an error: invalid usage. NCCL_DEBUG=WARN says more. All ranks end; "
                    "resume from the newest save.\n"));
  }
  for (const Ended& rank : on_gpus(2, 30, [](Ranks& ranks) {
         const Tensor x = numbers(0, 4);
         return ranks.rank() == 0 ? text_of(all_gather(x)) + text_of(broadcast(x, 0))
                                  : text_of(broadcast(x, 0)) + text_of(all_gather(x));
       }))
    expect_said(rank, 1, "NCCL's stand-in: rank ");
}

TEST(NcclRanks, SayWhatNcclSays) {
  const std::vector<Ended> ended = run_processes(2, [](std::unique_ptr<Ranks> ranks) {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    if (ranks->rank() == 1) setenv("SIMULATED_NCCL_FAILS", "3", 1);
    open_on(Device::cuda, 30, ranks);
    const RanksScope scope(ranks.get());
    text_of(all_gather(numbers(0, 4)));
    return text_of(all_gather(numbers(0, 8)));
  });
  expect_said(ended[1], 1,
              "rank 1 of 2: in all_gather of 32 bytes between GPUs, its collective number 2, NCCL "
              "met an error: unhandled system error. NCCL_DEBUG=WARN says more. All ranks end; "
              "resume from the newest save.\n");
}

// One that is stopped, and one that is killed, which nobody tells the others.
TEST(NcclRanks, HaveADeadline) {
  for (const int signal : {SIGSTOP, SIGKILL}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Ended> ended = on_gpus(2, 1, [&](Ranks& ranks) {
      text_of(all_gather(numbers(0, 4)));
      ranks.note("in the batches 9 to 16", 1);
      if (ranks.rank() == 1) raise(signal);
      return text_of(all_gather(numbers(0, 4)));
    });
    EXPECT_EQ(ended[0].code, 4);
    EXPECT_EQ(
        ended[0].said,
        "rank 0 of 2: in all_gather of 16 bytes between GPUs, its collective number 2, in "
        "the batches 9 to 16, which is not done after 1 s: a rank was stopped, or the network "
        "was cut or is too slow. All ranks end; resume from the newest save.\n");
    EXPECT_EQ(ended[1].code, 137);  // stopped until it is killed
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

// Where the host itself waits in NCCL.
TEST(NcclRanks, HaveADeadlineForTheStart) {
  const std::vector<Ended> ended = run_processes(2, [](std::unique_ptr<Ranks> ranks) {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    if (ranks->rank() == 1) {
      char id[128];
      ranks->broadcast(id, sizeof id, 0);
      raise(SIGSTOP);
    }
    open_on(Device::cuda, 0.1, ranks);
    return std::string();
  });
  EXPECT_EQ(ended[0].code, 4);
  EXPECT_EQ(
      ended[0].said,
      "rank 0 of 2: in the start of NCCL, which is not done after 1 s: a rank was stopped, or "
      "the network was cut or is too slow. All ranks end; resume from the newest save.\n");
}

// As where two of them have one GPU; then the host's ranks go on.
TEST(NcclRanks, SayThatNcclDoesNotStart) {
  const std::vector<Ended> ended = run_processes(2, [](std::unique_ptr<Ranks> ranks) {
    setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
    setenv("SIMULATED_NCCL_FAILS", "1", 1);
    try {
      open_on(Device::cuda, 30, ranks);
    } catch (const DeviceError& error) {
      return cat(error.what(), gathered(*ranks, ranks->rank())[1], " ", simulated::living_streams(),
                 " stream of kernels, ", simulated::living_events(), " events");
    }
    return std::string();
  });
  expect_all(ended,
             "cuda: NCCL does not start: unhandled system error. Give every rank a GPU of "
             "its own; NCCL_DEBUG=WARN says more.1 1 stream of kernels, 0 events");
}

TEST(NcclRanks, AreRefusedWithoutTheLibrary) {
  const std::vector<Ended> ended = run_processes(2, [](std::unique_ptr<Ranks> ranks) {
    setenv("PLIMSOLL_CUDA_LIBRARIES", "none", 1);
    open_on(Device::cuda, 30, ranks);
    return std::string();
  });
  for (const Ended& rank : ended)
    expect_said(rank, 9,
                "cuda: NCCL 2 is missing: there is no libnccl.so.2. Install "
                "it (pip install nvidia-nccl-cu13)");
}

// Of the trainer: weights and running statistics; what was planned is what was measured.
std::string trained(int n, Precision precision, bool captured, int64_t shard) {
  const std::vector<Ended> ended = on_gpus(n, 60, [&](Ranks&) {
    train::TrainOptions options = train::options_for(precision, captured);
    options.epochs = 1;
    options.ranks = n;
    options.shard = shard;
    train::Digits s(0, Device::cuda);
    const train::Result result = s.train(options);
    if (captured)
      check<StateError>(result.peak_bytes == result.planned.training, "planned ",
                        result.planned.training, ", measured ", result.peak_bytes);
    return s.bits();
  });
  for (const Ended& rank : ended) {
    EXPECT_EQ(rank.code, 0) << rank.said;
    EXPECT_TRUE(rank.left == ended[0].left);
  }
  return ended[0].left;
}

TEST(NcclRanks, TrainWithTheBitsOfOneRank) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    const std::string one = trained(1, precision, true, 0);
    EXPECT_GT(one.size(), 10'000U);
    EXPECT_TRUE(trained(2, precision, true, 0) == one);
    EXPECT_TRUE(trained(2, precision, false, 1) == one);
    EXPECT_TRUE(trained(4, precision, true, 2) == one);
    EXPECT_TRUE(trained(4, precision, true, 3) == one);
  }
}

}  // namespace
}  // namespace plimsoll
