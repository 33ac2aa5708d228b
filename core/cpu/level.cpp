#include "core/cpu/level.h"

#include <dlfcn.h>

#include <filesystem>

namespace plimsoll {

const char* cpu_level() { return kCompiledLevel; }

std::string engine_file() {
  Dl_info info{};
  const void* const here = reinterpret_cast<const void*>(&cpu_level);
  std::error_code none;
  const bool found = dladdr(here, &info) != 0 && info.dli_fname;
  const std::filesystem::path file = found ? info.dli_fname : "";
  // A name that is no path, by which a program was found in PATH, may be another file's here.
  if (file.has_parent_path() && std::filesystem::exists(file, none)) return file;
  return std::filesystem::read_symlink("/proc/self/exe", none);
}

}  // namespace plimsoll
