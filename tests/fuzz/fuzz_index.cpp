// The index of a set of safetensors files.
#include "formats/shards.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { formats::parse_index(bytes, "f"); });
}

std::vector<std::string> seeds() {
  return {formats::index_text({{"a", "model-00001-of-00002.safetensors"},
                               {"b.weight", "model-00002-of-00002.safetensors"}},
                              1234),
          R"({"weight_map": {"é": "x", "": "..x"}, "metadata": null})"};
}

std::vector<std::string> words() {
  return {"{",      "}",  "[",    "]",      ",",   ":",    "\"",      "\"weight_map\": {",
          "\"..\"", ".",  "/",    "..",     "\\/", "null", "\\ud800", "\"metadata\": {",
          "1e999",  "-1", "true", "\\u0000"};
}

}  // namespace plimsoll::fuzz
