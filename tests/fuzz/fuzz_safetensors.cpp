// Safetensors: the header, then every tensor that the engine can hold.
#include "formats/safetensors.h"

#include <cstring>

#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

}  // namespace

bool reads(std::string_view bytes) {
  return unless_refused([&] {
    const formats::Safetensors file(in_memory(bytes));
    for (const std::string& name : file.names())
      unless_refused([&] { file.tensor(name); });  // of a type that the engine does not have
  });
}

std::vector<std::string> seeds() {
  return {file_of("{}      ", ""),
          file_of(R"({"__metadata__":{"format":"pt","a\n\u00e9":""},)"
                  R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                  R"("b":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
                  R"("c":{"dtype":"BOOL","shape":[2,0],"data_offsets":[32,32]}} )",
                  std::string(32, '\1')),
          file_of(R"({"x":{"shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[1,3],"dtype":"U8"},)"
                  R"("y":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
                  R"("z":{"dtype":"F4","shape":[4],"data_offsets":[3,5]}})",
                  std::string(5, '\1'))};
}

std::vector<std::string> words() {
  return {"\"__metadata__\":{",
          "\"dtype\":\"F64\"",
          "\"shape\":[0]",
          "\"data_offsets\":[0,0]",
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\"",
          "\\u0061",
          "\\ud800",
          "null",
          "1e5",
          "-1",
          "18446744073709551616",
          "\xEF\xBB\xBF",
          std::string(1, '\0')};
}

}  // namespace plimsoll::fuzz
