// What a process may still take: the machine's memory, control groups and the address space, read
// in files that are written here.
#include "memory/pool/available.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "core/base/error.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMiB = int64_t{1} << 20;

int64_t available(const std::map<std::string, std::string>& files) {
  const fs::path root = fs::temp_directory_path() / cat("available_", getpid());
  fs::remove_all(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  const int64_t bytes = available_memory(root);
  fs::remove_all(root);
  return bytes;
}

const std::pair<const std::string, std::string> kMachine{
    "proc/meminfo", "MemTotal:  99999999 kB\nMemFree: 1 kB\nMemAvailable:   1048576 kB\n"};

TEST(MemoryAvailable, IsWhatTheMachineHasWithoutLimits) {
  EXPECT_EQ(available({kMachine}), 1024 * kMiB);
  EXPECT_GT(available({}), 0);  // no such files: the pages that are free
  EXPECT_EQ(available({kMachine,
                       {"proc/self/cgroup", "0::/\n"},
                       {"proc/self/limits", "Max address space   unlimited   unlimited  bytes\n"},
                       {"proc/self/statm", "1000 1 1 1 0 1 0\n"}}),
            1024 * kMiB);
}

TEST(MemoryAvailable, GroupsOfVersion2WithThoseAboveThem) {
  std::map<std::string, std::string> files{kMachine,
                                           {"proc/self/cgroup", "0::/user/job/step\n"},
                                           {"sys/fs/cgroup/user/job/step/memory.max", "max\n"},
                                           {"sys/fs/cgroup/user/job/step/memory.current", "9\n"},
                                           {"sys/fs/cgroup/user/job/memory.max", "104857600\n"},
                                           {"sys/fs/cgroup/user/job/memory.current", "31457280\n"}};
  EXPECT_EQ(available(files), 70 * kMiB);
  files["sys/fs/cgroup/user/job/memory.stat"] = "anon 1\nfile 2\ninactive_file 10485760\n";
  EXPECT_EQ(available(files), 80 * kMiB);
  files["sys/fs/cgroup/user/memory.max"] = "52428800\n";
  files["sys/fs/cgroup/user/memory.current"] = "41943040\n";
  EXPECT_EQ(available(files), 10 * kMiB);
  files["sys/fs/cgroup/user/memory.current"] = "52428801\n";
  EXPECT_EQ(available(files), 0);
}

// The names that the process has outside are not there: the top of what is seen is its own.
TEST(MemoryAvailable, GroupsInsideAContainer) {
  EXPECT_EQ(available({kMachine,
                       {"proc/self/cgroup", "0::/../../docker/1a2b\n"},
                       {"sys/fs/cgroup/memory.max", "104857600\n"},
                       {"sys/fs/cgroup/memory.current", "4857600\n"}}),
            100'000'000);
}

TEST(MemoryAvailable, GroupsOfVersion1) {
  EXPECT_EQ(available({kMachine,
                       {"proc/self/cgroup",
                        "5:cpu,cpuacct:/a\n4:hugetlb,memory:/a/b\n1:name=systemd:/x\n"},
                       {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                       {"sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n"},
                       {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "104857600\n"},
                       {"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "52428800\n"},
                       {"sys/fs/cgroup/memory/a/b/memory.stat",
                        "inactive_file 5\ntotal_inactive_file 1048576\n"}}),
            51 * kMiB);
}

TEST(MemoryAvailable, TheAddressSpace) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  EXPECT_EQ(
      available({kMachine,
                 {"proc/self/limits",
                  "Limit                     Soft Limit           Hard Limit           Units\n"
                  "Max address space         104857600            unlimited            bytes\n"},
                 {"proc/self/statm", "1000 900 80 7 0 600 0\n"}}),
      100 * kMiB - 1000 * page);
}

}  // namespace
}  // namespace plimsoll
