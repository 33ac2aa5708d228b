// Test material that lies outside this repository: files in the safetensors format, in the folder
// that the environment variable PLIMSOLL_FOREIGN names.
//
//   const auto tensors = foreign::read_safetensors(*foreign::folder() / "pytorch_golden" / name);
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "formats/safetensors.h"

namespace plimsoll::foreign {

// nullopt: the variable is not set.
inline std::optional<std::filesystem::path> folder() {
  const char* path = std::getenv("PLIMSOLL_FOREIGN");
  if (!path || !*path) return std::nullopt;
  return path;
}

#define NEEDS_FOREIGN()             \
  if (!plimsoll::foreign::folder()) \
  GTEST_SKIP() << "set PLIMSOLL_FOREIGN to the folder of foreign test material"

// Counts the cases of one folder. Each run gives "" or what is wrong; one that throws Skip is
// skipped, with the reason on a line of its own.
template <class Skip>
struct Tally {
  int all = 0, passed = 0, skipped = 0;

  template <class F>
  void count(const std::string& name, F run) {
    ++all;
    std::string wrong;
    try {
      wrong = run();
    } catch (const Skip& reason) {
      std::cout << "skipped: " << name << ": " << reason.what() << "\n";
      ++skipped;
      return;
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    EXPECT_EQ(wrong, "") << name;
    passed += wrong.empty();
  }
  void print(const std::string& folder) const {
    std::cout << folder << ": " << all << " cases, " << passed << " passed, " << skipped
              << " skipped, " << all - passed - skipped << " failed\n";
  }
};

inline std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : formats::read_safetensors(path)) tensors[name] = tensor;
  return tensors;
}

}  // namespace plimsoll::foreign
