#include "formats/gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/base/half.h"

namespace plimsoll::formats {
namespace {

constexpr uint32_t kVersion = 3;
constexpr int64_t kBoundary = 32, kBlock = 32;
constexpr int kMostAxes = 4;

// So many neighbours of a row are one block of so many bytes.
struct Encoding {
  GgufType type;
  const char* name;
  int64_t elements, bytes;
};
constexpr Encoding kEncodings[] = {{GgufType::f32, "f32", 1, 4},
                                   {GgufType::f16, "f16", 1, 2},
                                   {GgufType::q4_0, "q4_0", kBlock, 2 + kBlock / 2},
                                   {GgufType::q8_0, "q8_0", kBlock, 2 + kBlock}};
const Encoding& encoding_of(GgufType type) {
  const auto found = std::ranges::find(kEncodings, type, &Encoding::type);
  check<ValueError>(found != std::end(kEncodings),
                    "gguf: there is no such type: ", static_cast<uint32_t>(type),
                    ". Use f32, f16, q4_0 or q8_0.");
  return *found;
}

int64_t bytes_of(const Shape& shape, GgufType type) {
  const Encoding& encoding = encoding_of(type);
  return count(shape) / encoding.elements * encoding.bytes;
}

int64_t padded(int64_t bytes) { return (bytes + kBoundary - 1) / kBoundary * kBoundary; }

// What is in front of the elements, in the order of the format.
class Header {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(const std::string& text) {
    add(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  void add(const GgufField& field) {
    add(field.key);
    std::visit([&](const auto& value) { add_value(value, /*typed=*/true); }, field.value);
  }
  void add(const GgufTensor& item, uint64_t place) {
    add(item.name);
    const Shape& shape = item.tensor.shape();
    add(static_cast<uint32_t>(shape.rank()));
    for (int axis = shape.rank(); axis-- > 0;) add(static_cast<uint64_t>(shape[axis]));
    add(static_cast<uint32_t>(item.type));
    add(place);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  static constexpr uint32_t kArray = 9;
  static uint32_t number_of(uint32_t) { return 4; }
  static uint32_t number_of(int32_t) { return 5; }
  static uint32_t number_of(float) { return 6; }
  static uint32_t number_of(bool) { return 7; }
  static uint32_t number_of(const std::string&) { return 8; }

  template <class T>
  void add_value(const T& value, bool typed) {
    if (typed) add(number_of(value));
    add(value);
  }
  template <class T>
  void add_value(const std::vector<T>& values, bool) {
    add(kArray);
    add(number_of(T()));
    add(static_cast<uint64_t>(values.size()));
    for (const T& value : values) add_value(value, /*typed=*/false);
  }

  std::string bytes_;
};

void put_half(float value, const std::string& name, std::byte* to) {
  const Half half(value);
  check<NumericError>(std::isfinite(static_cast<float>(half)), "gguf: ", name, " holds ", value,
                      ", which no number in f16 is. Look for it before it is written.");
  std::memcpy(to, &half.bits, sizeof half.bits);
}

// 0 where it is not finite: then all of the block is 0 in f16.
float inverse(float d) { return std::isfinite(1 / d) ? 1 / d : 0; }

// Of a block of 32 elements.
void put_q8_0(const float* x, const std::string& name, std::byte* to) {
  float largest = 0;
  for (int64_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(x[i]));
  const float d = largest / 127, factor = inverse(d);
  put_half(d, name, to);
  for (int64_t i = 0; i < kBlock; ++i)
    to[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(x[i] * factor)));
}

void put_q4_0(const float* x, const std::string& name, std::byte* to) {
  float largest = x[0];
  for (int64_t i = 1; i < kBlock; ++i)
    if (std::abs(x[i]) > std::abs(largest)) largest = x[i];
  const float d = largest / -8, factor = inverse(d);
  put_half(d, name, to);
  float scaled[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) scaled[i] = x[i] * factor;
  asm("" : "+m"(scaled));  // rounded before the sum: no fused multiply-add has these bits
  const auto code = [&](int64_t i) {
    return static_cast<uint8_t>(std::min(15, static_cast<int>(scaled[i] + 8.5F)));
  };
  for (int64_t i = 0; i < kBlock / 2; ++i)
    to[2 + i] = static_cast<std::byte>(code(i) | code(i + kBlock / 2) << 4);
}

void put_row(const std::vector<float>& row, const GgufTensor& item, std::byte* to) {
  for (const float x : row)
    check<NumericError>(std::isfinite(x), "gguf: ", item.name, " holds ", x,
                        ". Look for it before it is written.");
  const auto columns = static_cast<int64_t>(row.size());
  const int64_t block = encoding_of(item.type).bytes;
  switch (item.type) {
    case GgufType::f16:
      for (int64_t i = 0; i < columns; ++i)
        put_half(row[static_cast<size_t>(i)], item.name, to + 2 * i);
      break;
    case GgufType::q8_0:
      for (int64_t i = 0; i < columns / kBlock; ++i)
        put_q8_0(&row[static_cast<size_t>(i * kBlock)], item.name, to + i * block);
      break;
    case GgufType::q4_0:
      for (int64_t i = 0; i < columns / kBlock; ++i)
        put_q4_0(&row[static_cast<size_t>(i * kBlock)], item.name, to + i * block);
      break;
    default:
      std::memcpy(to, row.data(), 4 * row.size());
  }
}

void write_elements(const GgufTensor& item, const Sink& sink) {
  const Shape& shape = item.tensor.shape();
  std::vector<std::byte> space;
  const std::span<const std::byte> from = formats::bytes_of("gguf", item.tensor, space);
  const int64_t columns = shape.back();
  std::vector<float> row(static_cast<size_t>(columns));
  std::vector<std::byte> to(static_cast<size_t>(bytes_of({columns}, item.type)));
  visit_floating("gguf", item.tensor.dtype(), [&]<class T>() {
    for (int64_t begin = 0; begin < count(shape); begin += columns) {
      for (int64_t i = 0; i < columns; ++i) {
        T value;
        std::memcpy(&value, from.data() + static_cast<size_t>(begin + i) * sizeof(T), sizeof(T));
        row[static_cast<size_t>(i)] = static_cast<float>(value);
      }
      put_row(row, item, to.data());
      sink(to);
    }
  });
}

void check_tensors(const std::vector<GgufTensor>& tensors) {
  std::set<std::string_view> names;
  for (const GgufTensor& item : tensors) {
    require_bytes("gguf", item.tensor);
    const Shape& shape = item.tensor.shape();
    check<ValueError>(is_floating(item.tensor.dtype()) && shape.rank() >= 1 &&
                          shape.rank() <= kMostAxes && count(shape) > 0,
                      "gguf: this is no tensor of 1 to ", kMostAxes,
                      " axes of a floating type: ", item.name, " is ", item.tensor.meta(),
                      ". Leave it out.");
    check<ValueError>(fits(shape, item.type), "gguf: rows are no whole blocks of ", kBlock, ": ",
                      item.name, " is ", shape, " for ", name_of(item.type), ". Use f16 for it.");
    check<ValueError>(names.insert(item.name).second, "gguf: the name ", item.name,
                      " is taken. Give every tensor a name of its own.");
  }
}

}  // namespace

const char* name_of(GgufType type) { return encoding_of(type).name; }

bool fits(const Shape& shape, GgufType type) {
  const int64_t block = encoding_of(type).elements;
  return block == 1 || (shape.rank() >= 1 && shape.back() % block == 0);
}

void write_gguf(const std::filesystem::path& file, const std::vector<GgufField>& fields,
                const std::vector<GgufTensor>& tensors) {
  check_tensors(tensors);
  Header header;
  for (const char c : {'G', 'G', 'U', 'F'}) header.add(c);
  header.add(kVersion);
  header.add(static_cast<uint64_t>(tensors.size()));
  header.add(static_cast<uint64_t>(fields.size()));
  for (const GgufField& field : fields) header.add(field);
  int64_t place = 0;
  for (const GgufTensor& item : tensors) {
    header.add(item, static_cast<uint64_t>(place));
    place += padded(bytes_of(item.tensor.shape(), item.type));
  }
  const std::vector<std::byte> zeros(kBoundary);
  const auto pad = [&](const Sink& sink, int64_t bytes) {
    sink(std::span(zeros).first(static_cast<size_t>(padded(bytes) - bytes)));
  };
  write_file("gguf", file, [&](const Sink& sink) {
    sink(header.bytes());
    pad(sink, static_cast<int64_t>(header.bytes().size()));
    for (const GgufTensor& item : tensors) {
      write_elements(item, sink);
      pad(sink, bytes_of(item.tensor.shape(), item.type));
    }
  });
}

}  // namespace plimsoll::formats
