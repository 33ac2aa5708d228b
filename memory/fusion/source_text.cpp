#include "memory/fusion/source_text.h"

namespace plimsoll::fusion {
namespace {

// "Dropout{constants<DropoutAttrs>({1u, 2u})}": arguments take the place of the numbers.
void take_words(std::string& object, std::vector<uint64_t>& words) {
  if (object.find("({") == std::string::npos) return;
  const size_t open = object.find("({") + 2, close = object.find("})", open);
  std::string names;
  for (size_t at = open; at < close; at = object.find_first_of(",}", at) + 1) {
    names += cat(names.empty() ? "" : ", ", "arguments.words[", words.size(), "]");
    words.push_back(std::stoull(object.substr(at)));
  }
  object.replace(open, close - open, names);
}

}  // namespace

const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "Half";
    case DType::bf16:
      return "BFloat16";
    case DType::i64:
      return "int64_t";
    case DType::i32:
      return "int32_t";
    case DType::u8:
      return "uint8_t";
    case DType::boolean:
      break;
  }
  return "bool";
}

std::string object_of(const Member& member, std::vector<uint64_t>& words) {
  std::string object = member.op->code(member.attrs);
  if (member.op->whole) take_words(object, words);
  object.pop_back();  // the brace: pointers go before it
  for (const Slice& in : member.in)
    if (in.whole)
      object += cat(object.back() == '{' ? "" : ", ", "static_cast<const ", type_of(in.dtype),
                    "*>(arguments.at[", in.number, "])");
  return object + "}";
}

}  // namespace plimsoll::fusion
