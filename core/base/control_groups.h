// Control groups of Linux: what a process is allowed of a machine, by containers and batch systems.
//
//   for (const ControlGroup& group : control_groups("memory"))
//     number_in(group.folder / (group.version == 2 ? "memory.max" : "memory.limit_in_bytes"));
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

struct ControlGroup {
  std::filesystem::path folder;
  int version;  // 1 or 2, whose files have other names
};

// The groups of this process that a controller ("memory", "cpu") may limit, and all above them.
// Everything is read below `root`: proc/self/cgroup and sys/fs/cgroup. Inside a container the names
// of its groups may not be seen, so folders need not exist; that of the outermost does.
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& root = "/");

// The number at the beginning of a file; nothing for one that is not there or says "max".
std::optional<int64_t> number_in(const std::filesystem::path& file);

}  // namespace plimsoll
