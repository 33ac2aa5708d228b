// The network of the tests: it finds what is read before it was waited for, and what is written
// while it is in flight.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"

namespace plimsoll {
namespace {

constexpr int64_t kRanks = 3;

// On each rank an all_gather of one number; `meanwhile` happens before the wait, `after` behind it.
template <class F, class G>
void gather_with(uint64_t seed, F meanwhile, G after) {
  run_ranks(
      kRanks,
      [&](Ranks& ranks) {
        float own = static_cast<float>(ranks.rank()), all[kRanks] = {};
        const Ticket ticket = ranks.start({Collective::Kind::all_gather, &own, all, sizeof own});
        meanwhile(ranks.rank(), own, all);
        ranks.wait(ticket);
        after(all);
      },
      {.hostile = true, .seed = seed});
}

TEST(HostileRanks, MakeUseBeforeTheWaitVisible) {
  std::atomic<int> unready = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    gather_with(
        seed, [&](int64_t, float&, const float* all) { unready += std::isnan(all[0]); },
        [](const float* all) {
          for (int64_t r = 0; r < kRanks; ++r) EXPECT_EQ(all[r], static_cast<float>(r));
        });
  EXPECT_GT(unready, 20);
}

TEST(HostileRanks, RefuseWritesInFlight) {
  const auto nothing = [](const float*) {};
  int received = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto writes_to_sent = [](int64_t rank, float& own, const float*) {
      if (rank == 1) own += 1;
    };
    expect_error<StateError>([&] { gather_with(seed, writes_to_sent, nothing); },
                             "rank 1 wrote to what it sends");
    try {  // found, unless what comes is written over it
      gather_with(
          seed,
          [](int64_t rank, float&, float* all) {
            if (rank == 2) all[0] = 7;
          },
          nothing);
    } catch (const StateError& error) {
      EXPECT_STREQ(error.what(), "rank 2 wrote to what it receives");
      ++received;
    }
  }
  EXPECT_GT(received, 5);
}

TEST(HostileRanks, RunSeveralInTheirOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    run_ranks(kRanks,
              [](Ranks& ranks) {
                int64_t own[4], all[4][kRanks];
                Ticket tickets[4];
                for (int64_t i = 0; i < 4; ++i) {
                  own[i] = 10 * i + ranks.rank();
                  tickets[i] =
                      ranks.start({Collective::Kind::all_gather, &own[i], all[i], sizeof own[i]});
                }
                ranks.wait(tickets[2]);  // and with it those before
                for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(all[i][1], 10 * i + 1);
                int64_t root = ranks.rank();
                ranks.broadcast(&root, sizeof root, 2);
                EXPECT_EQ(root, 2);
                EXPECT_EQ(all[3][2], 32);
              },
              {.hostile = true, .seed = seed});
}

}  // namespace
}  // namespace plimsoll
