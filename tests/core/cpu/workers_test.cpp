// Workers: loops that end whoever comes to help, and when; and how many cores a process may use.
#include "core/cpu/workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "core/cpu/cores.h"
#include "core/cpu/parallel.h"
#include "tests/data/testing.h"

namespace plimsoll {
namespace {

TEST(Workers, EachNumberRunsOnAThreadOfItsOwn) {
  std::mutex mutex;
  std::set<std::pair<int, std::thread::id>> seen;
  std::atomic<int> here = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  run_with_workers(4, [&](int thread) {
    EXPECT_TRUE(in_workers());
    {
      const std::lock_guard lock(mutex);
      seen.emplace(thread, std::this_thread::get_id());
    }
    ++here;
    while (here < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_FALSE(in_workers());
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_TRUE(seen.contains({0, std::this_thread::get_id()}));
}

// What one loop writes, the next reads: short ones, so that workers are late, asleep or in between.
TEST(Workers, ManyLoopsSeeEachOthersWrites) {
  const int before = num_threads();
  set_num_threads(4);
  std::vector<int64_t> values(64, 0);
  for (int64_t round = 0; round < 20'000; ++round) {
    parallel_for(64, 1,
                 [&](int64_t i, int64_t) { values[static_cast<size_t>((i * 7) % 64)] += i; });
    if (round % 5'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 20'000 * 63 * 32);
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<size_t>((i * 7) % 64)], 20'000 * i);
  set_num_threads(before);
}

// Several threads have loops at the same time: one has the workers, the others work alone.
TEST(Workers, LoopsOfSeveralThreads) {
  const int before = num_threads();
  set_num_threads(3);
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(4, 0);
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 2'000; ++round) {
        std::atomic<int64_t> sum = 0;
        parallel_for(100, 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
        sums[t] += sum;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 2'000 * 4'950));
  set_num_threads(before);
}

TEST(Workers, AChildOfForkWorksAlone) {
  const int before = num_threads();
  set_num_threads(3);
  const auto sum = [] {
    std::atomic<int64_t> total = 0;
    parallel_for(100, 1, [&](int64_t i, int64_t) { total += i; });
    return total.load();
  };
  EXPECT_EQ(sum(), 4'950);
  const pid_t child = fork();
  if (child == 0) _exit(sum() == 4'950 ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  set_num_threads(before);
}

TEST(UsableCores, AreNoMoreThanTheQuotaOfAnyGroup) {
  const int all = usable_cores();
  EXPECT_GE(all, 1);
  const data::TemporaryFolder root;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root.path() / file).parent_path());
    root.write(file, text);
  };
  EXPECT_EQ(usable_cores(root.path()), usable_cores("/nowhere"));
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cores(root.path()), 1);
  write("sys/fs/cgroup/job/cpu.max", "110000 100000\n");
  EXPECT_EQ(usable_cores(root.path()), std::min(2, usable_cores("/nowhere")));
  write("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "80000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable_cores(root.path()), 1);
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(usable_cores(root.path()), usable_cores("/nowhere"));
}

}  // namespace
}  // namespace plimsoll
