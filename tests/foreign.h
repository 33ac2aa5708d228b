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
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/tensor.h"

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

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check<DataError>(file.good(), "foreign: the file cannot be opened: ", path.string(),
                   ". Point PLIMSOLL_FOREIGN at the folder that holds it.");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The tensors of a file (f64, i64, and bool as u8): 8 bytes with the header's length, a header in
// JSON that gives dtype, shape and place of every tensor, and their elements in row-major order.
inline std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const char* data = bytes.data() + sizeof length + length;
  std::map<std::string, Tensor> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  for (const auto& item : header.items()) {
    const std::string& name = item.key();
    const nlohmann::json& entry = item.value();
    if (name == "__metadata__") continue;
    const auto sizes = entry.at("shape").get<std::vector<int64_t>>();
    const Shape shape{std::span<const int64_t>(sizes)};
    const auto copy = [&]<class T>(T) {
      std::vector<T> values(static_cast<size_t>(count(shape)));
      std::memcpy(values.data(), data + entry.at("data_offsets").at(0).get<size_t>(),
                  values.size() * sizeof(T));
      return Tensor::of(std::span<const T>(values), shape);
    };
    const std::string dtype = entry.at("dtype");
    check<DataError>(dtype == "F64" || dtype == "I64" || dtype == "BOOL", "foreign: tensor ", name,
                     " has a dtype that is not read here: ", dtype, ". Add it.");
    tensors[name] = dtype == "F64"   ? copy(double{})
                    : dtype == "I64" ? copy(int64_t{})
                                     : copy(uint8_t{});
  }
  return tensors;
}

}  // namespace plimsoll::foreign
