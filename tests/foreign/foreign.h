// Test material that lies outside this repository: files in the safetensors format, in the folder
// that the environment variable PLIMSOLL_FOREIGN names.
//
//   const auto tensors = foreign::read_safetensors(*foreign::folder() / "pytorch_golden" / name);
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/tensor/tensor.h"

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

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check<DataError>(file.good(), "foreign: the file cannot be opened: ", path.string(),
                   ". Point PLIMSOLL_FOREIGN at the folder that holds it.");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The tensors of a file: 8 bytes with the header's length, a header in JSON that gives dtype, shape
// and place of every tensor, and their elements in row-major order. DataError for other dtypes.
inline std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const char* data = bytes.data() + sizeof length + length;
  const std::map<std::string, DType> dtypes{
      {"F64", DType::f64}, {"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16},
      {"I64", DType::i64}, {"I32", DType::i32}, {"U8", DType::u8},   {"BOOL", DType::boolean}};
  std::map<std::string, Tensor> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto sizes = entry.at("shape").get<std::vector<int64_t>>();
    const auto dtype = dtypes.find(entry.at("dtype").get<std::string>());
    check<DataError>(dtype != dtypes.end(), "foreign: tensor ", name,
                     " has a dtype that is not read here: ", entry.at("dtype").dump(), ". Add it.");
    Tensor tensor =
        Tensor::empty({Shape{std::span<const int64_t>(sizes)}, dtype->second, Device::cpu});
    if (tensor.count() > 0)
      std::memcpy(view_of(tensor.value()).data, data + entry.at("data_offsets").at(0).get<size_t>(),
                  static_cast<size_t>(tensor.count()) * size_of(dtype->second));
    tensors[name] = tensor;
  }
  return tensors;
}

}  // namespace plimsoll::foreign
