#include "tests/foreign/onnx/onnx.h"

#include "tests/support/wire.h"

namespace plimsoll::onnx {
namespace {

using wire::Field;
using wire::Reader;
using Type = wire::Type;

// Which numbers a tensor stores elements as.
enum Number : int64_t {
  f32 = 1,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  text,
  boolean,
  f16,
  f64,
  u32,
  u64,
  bf16 = 16
};

struct Content {
  std::vector<uint64_t> dims, numbers;  // elements of a typed field, as bits
  int64_t type = 0;
  std::optional<std::string_view> raw;
  bool elsewhere = false;  // in another file
};

Content read_content(std::string_view bytes) {
  Content c;
  for (Reader r(bytes); const auto field = r.next();) switch (field->number) {
      case 1:
        append(c.dims, *field, Type::varint);
        break;
      case 2:
        c.type = static_cast<int64_t>(field->integer);
        break;
      case 4:
        append(c.numbers, *field, Type::fixed32);
        break;
      case 5:
      case 7:
      case 11:
        append(c.numbers, *field, Type::varint);
        break;
      case 9:
        c.raw = field->bytes;
        break;
      case 10:
        append(c.numbers, *field, Type::fixed64);
        break;
      case 14:
        c.elsewhere = field->integer != 0;
        break;
    }
  return c;
}

Shape read_shape(const std::vector<uint64_t>& dims) {
  check<Unsupported>(dims.size() <= kMaxRank, "more than 8 axes");
  Shape shape;
  uint64_t room = uint64_t{1} << 48;  // a bound on the elements, zero sizes counted as one
  for (const uint64_t size : dims) {
    check<DataError>(size <= room, "onnx: a tensor has the impossible size ", size,
                     ". The file is damaged.");
    room /= std::max<uint64_t>(size, 1);
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

// The elements: stored as S, in memory as T; f makes one from the other.
template <class S, class T, class F>
Tensor decode(const Content& c, F f) {
  const Shape shape = read_shape(c.dims);
  const auto n = static_cast<size_t>(count(shape));
  if (c.raw)
    check<DataError>(c.raw->size() == n * sizeof(S), "onnx: a tensor of shape ", shape, " has ",
                     c.raw->size(), " bytes. The file is damaged.");
  else
    check<DataError>(c.numbers.size() == n, "onnx: a tensor of shape ", shape, " has ",
                     c.numbers.size(), " elements. The file is damaged.");
  Tensor tensor = Tensor::empty({shape, dtype_of<T>, Device::cpu});
  T* y = n > 0 ? tensor.data<T>() : nullptr;
  for (size_t i = 0; i < n; ++i) {
    S stored;
    const void* from =
        c.raw ? static_cast<const void*>(c.raw->data() + i * sizeof(S)) : &c.numbers[i];
    std::memcpy(&stored, from, sizeof stored);  // of a typed field, its low bytes
    y[i] = f(stored);
  }
  return tensor;
}

template <class S, class T = S>
Tensor plain(const Content& c) {
  return decode<S, T>(c, [](S v) { return static_cast<T>(v); });
}

template <class T>
Tensor half(const Content& c) {
  return decode<uint16_t, T>(c, [](uint16_t v) {
    T element;
    element.bits = v;
    return element;
  });
}

}  // namespace

Tensor read_tensor(std::string_view bytes) {
  const Content c = read_content(bytes);
  check<Unsupported>(!c.elsewhere, "the tensor lies in another file");
  switch (c.type) {
    case f32:
      return plain<float>(c);
    case u8:
      return plain<uint8_t>(c);
    case i8:
      return plain<int8_t, int32_t>(c);
    case u16:
      return plain<uint16_t, int32_t>(c);
    case i16:
      return plain<int16_t, int32_t>(c);
    case i32:
      return plain<int32_t>(c);
    case i64:
      return plain<int64_t>(c);
    case boolean:
      return decode<uint8_t, bool>(c, [](uint8_t v) { return v != 0; });
    case f16:
      return half<Half>(c);
    case f64:
      return plain<double>(c);
    case u32:
      return plain<uint32_t, int64_t>(c);
    case u64:
      return decode<uint64_t, int64_t>(c, [](uint64_t v) {
        check<Unsupported>(v < uint64_t{1} << 63, "an unsigned number of 64 bits");
        return static_cast<int64_t>(v);
      });
    case bf16:
      return half<BFloat16>(c);
    case 0:
      fail<DataError>("onnx: a tensor has no type. The file is damaged.");
    default:
      fail<Unsupported>("the engine has no elements of ONNX's type ", c.type);
  }
}

DType dtype_of_number(int64_t number) {
  static const std::map<int64_t, DType> known{
      {f32, DType::f32},         {u8, DType::u8},   {i32, DType::i32}, {i64, DType::i64},
      {boolean, DType::boolean}, {f16, DType::f16}, {f64, DType::f64}, {bf16, DType::bf16}};
  const auto found = known.find(number);
  check<Unsupported>(found != known.end(), "the engine has no elements of ONNX's type ", number);
  return found->second;
}

}  // namespace plimsoll::onnx
