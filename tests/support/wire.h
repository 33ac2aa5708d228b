// Protobuf's wire format: a message is a sequence of fields, each a number, a wire type and a
// value.
//
//   for (wire::Reader r(bytes); const auto field = r.next();)
//     if (field->number == 1) dims.push_back(field->integer);
//
// DataError when a field goes past the end of the message, a number is longer than 64 bits, or a
// wire type is unknown.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "core/base/error.h"

namespace plimsoll::wire {

enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  uint64_t number = 0;
  Type type = Type::varint;
  uint64_t integer = 0;    // of the three number types; the bits of a float or double
  std::string_view bytes;  // of Type::bytes: text, a message, or packed numbers
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t key = varint();
    Field field{key >> 3, static_cast<Type>(key & 7), 0, {}};
    switch (field.type) {
      case Type::varint:
        field.integer = varint();
        return field;
      case Type::fixed64:
        field.integer = fixed(8);
        return field;
      case Type::bytes:
        field.bytes = take(varint());
        return field;
      case Type::fixed32:
        field.integer = fixed(4);
        return field;
    }
    fail<DataError>("protobuf: field ", field.number, " has the unknown wire type ", key & 7,
                    ". The file is damaged.");
  }
  bool done() const { return rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail<DataError>("protobuf: a number is longer than 64 bits. The file is damaged.");
  }

  uint64_t fixed(size_t size) {  // little-endian, like the machines we run on
    uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }

 private:
  std::string_view take(uint64_t size) {
    check<DataError>(size <= rest_.size(), "protobuf: ", size, " bytes are announced and ",
                     rest_.size(), " are left. The file is damaged.");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

// Adds the numbers of a repeated field: one, or many packed into bytes.
inline void append(std::vector<uint64_t>& numbers, const Field& field, Type element) {
  if (field.type == element) {
    numbers.push_back(field.integer);
    return;
  }
  check<DataError>(field.type == Type::bytes, "protobuf: field ", field.number,
                   " has another wire type than its elements. The file is damaged.");
  for (Reader packed(field.bytes); !packed.done();)
    numbers.push_back(element == Type::varint    ? packed.varint()
                      : element == Type::fixed64 ? packed.fixed(8)
                                                 : packed.fixed(4));
}

}  // namespace plimsoll::wire
