#include "core/base/control_groups.h"

#include <fstream>

namespace plimsoll {

namespace fs = std::filesystem;

std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  int64_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;
}

// Lines are "0::NAME" in version 2 and "4:cpu,memory:NAME" in version 1.
std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& root) {
  const fs::path top = root / "sys/fs/cgroup";
  std::vector<ControlGroup> groups;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const int version = controllers == ",," ? 2 : 1;
    if (version == 1 && controllers.find(',' + controller + ',') == std::string::npos) continue;
    const fs::path of_version = version == 2 ? top : top / controller;
    fs::path name = fs::path(line.substr(second + 1)).lexically_normal().relative_path();
    for (; !name.empty(); name = name.parent_path()) groups.push_back({of_version / name, version});
    groups.push_back({of_version, version});
  }
  return groups;
}

}  // namespace plimsoll
