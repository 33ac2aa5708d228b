#include "core/base/dtype.h"

namespace plimsoll {
namespace {

struct Properties {
  const char* name;
  int64_t size;
  bool floating;
};
// In the order of the enumeration.
constexpr Properties kTable[] = {{"f64", 8, true},  {"f32", 4, true},  {"f16", 2, true},
                                 {"bf16", 2, true}, {"i64", 8, false}, {"i32", 4, false},
                                 {"u8", 1, false},  {"bool", 1, false}};

const Properties& properties(DType dtype) { return kTable[static_cast<int>(dtype)]; }

}  // namespace

int64_t size_of(DType dtype) { return properties(dtype).size; }
const char* name_of(DType dtype) { return properties(dtype).name; }
bool is_floating(DType dtype) { return properties(dtype).floating; }

}  // namespace plimsoll
