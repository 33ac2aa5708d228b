#include "memory/pool/available.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "core/base/control_groups.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

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

int64_t left_of_groups(const fs::path& root) {
  int64_t left = kNoLimit;
  for (const auto& [folder, version] : control_groups("memory", root)) {
    const Group& files = version == 2 ? kVersion2 : kVersion1;
    const auto limit = number_in(folder / files.limit), usage = number_in(folder / files.usage);
    if (limit && usage)
      left = std::min(
          left, *limit - *usage + number_after(files.cached, folder / "memory.stat").value_or(0));
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
