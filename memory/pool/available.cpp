#include "memory/pool/available.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The number at the beginning of a file; nothing for one that is not there or says "max".
std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  int64_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;
}

// What stands after a name at the beginning of a line.
std::optional<int64_t> number_after(const std::string& name, const fs::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    int64_t number = 0;
    if (line.starts_with(name) &&
        std::sscanf(line.c_str() + name.size(), " %" SCNd64, &number) == 1)
      return number;
  }
  return std::nullopt;
}

// The files of a version of control groups.
struct Group {
  const char *limit, *usage, *cached;
};
constexpr Group kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Group kVersion2{"memory.max", "memory.current", "inactive_file"};

// Of a group and all above it. Inside a container the names of its groups may not be seen; the
// folder of the outermost is there always.
int64_t left_of_group(const fs::path& top, const std::string& name, const Group& files) {
  int64_t left = kNoLimit;
  fs::path path = fs::path(name).lexically_normal().relative_path();
  while (true) {
    const fs::path folder = path.empty() ? top : top / path;
    const auto limit = number_in(folder / files.limit), usage = number_in(folder / files.usage);
    if (limit && usage)
      left = std::min(
          left, *limit - *usage + number_after(files.cached, folder / "memory.stat").value_or(0));
    if (path.empty()) return left;
    path = path.parent_path();
  }
}

// Lines are "0::NAME" in version 2 and "4:cpu,memory:NAME" in version 1.
int64_t left_of_groups(const fs::path& root) {
  const fs::path top = root / "sys/fs/cgroup";
  int64_t left = kNoLimit;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string name = line.substr(second + 1);
    if (controllers == ",,")
      left = std::min(left, left_of_group(top, name, kVersion2));
    else if (controllers.find(",memory,") != std::string::npos)
      left = std::min(left, left_of_group(top / "memory", name, kVersion1));
  }
  return left;
}

int64_t left_of_address_space(const fs::path& root) {
  const auto limit = number_after("Max address space", root / "proc/self/limits");
  const auto mapped = number_in(root / "proc/self/statm");  // pages
  return limit && mapped ? *limit - *mapped * sysconf(_SC_PAGESIZE) : kNoLimit;
}

}  // namespace

int64_t available_memory(const fs::path& root) {
  const auto free = number_after("MemAvailable:", root / "proc/meminfo");
  const int64_t machine = free ? *free * 1024 : sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(0,
                           std::min({machine, left_of_groups(root), left_of_address_space(root)}));
}

}  // namespace plimsoll
