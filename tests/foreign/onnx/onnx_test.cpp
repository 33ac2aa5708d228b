// The reader of ONNX's files, with messages made by hand: sound ones, and every way to cut them
// off.
#include "tests/foreign/onnx/onnx.h"

#include <gtest/gtest.h>

namespace plimsoll::onnx {
namespace {

std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string number(uint64_t field, uint64_t v) { return varint(field << 3) + varint(v); }
std::string bytes(uint64_t field, const std::string& v) {
  return varint(field << 3 | 2) + varint(v.size()) + v;
}
template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}
std::string fixed32(uint64_t field, float v) { return varint(field << 3 | 5) + raw({v}); }

// [2, 1], dims packed or one by one, elements last.
std::string header(uint64_t type, bool packed = false) {
  const std::string dims = packed ? bytes(1, varint(2) + varint(1)) : number(1, 2) + number(1, 1);
  return dims + number(2, type);
}

void expect_tensor(const std::string& message, DType dtype, const std::vector<double>& values) {
  const Tensor x = read_tensor(message);
  EXPECT_EQ(x.dtype(), dtype);
  EXPECT_EQ(x.shape(), (Shape{2, 1}));
  EXPECT_EQ(x.to_vector<double>(), values);
}

TEST(OnnxReader, TypedFields) {
  expect_tensor(header(1) + fixed32(4, 1.5) + fixed32(4, -2), DType::f32, {1.5, -2});
  expect_tensor(header(1, true) + bytes(4, raw<float>({1.5, -2})), DType::f32, {1.5, -2});
  expect_tensor(header(11) + bytes(10, raw<double>({1.5, -2})), DType::f64, {1.5, -2});
  expect_tensor(header(7) + bytes(7, varint(3) + varint(-4)), DType::i64, {3, -4});
  expect_tensor(header(6) + number(5, 3) + number(5, -4), DType::i32, {3, -4});
  expect_tensor(header(2) + bytes(5, varint(3) + varint(200)), DType::u8, {3, 200});
  expect_tensor(header(3) + bytes(5, varint(3) + varint(-4)), DType::i32, {3, -4});
  expect_tensor(header(9) + bytes(5, varint(0) + varint(1)), DType::boolean, {0, 1});
  expect_tensor(header(10) + bytes(5, varint(0x3c00) + varint(0xc000)), DType::f16, {1, -2});
  expect_tensor(header(16) + bytes(5, varint(0x3f80) + varint(0xc000)), DType::bf16, {1, -2});
  expect_tensor(header(13) + bytes(11, varint(3) + varint(9)), DType::i64, {3, 9});
}

TEST(OnnxReader, RawBytes) {
  expect_tensor(header(1) + bytes(9, raw<float>({1.5, -2})), DType::f32, {1.5, -2});
  expect_tensor(header(5) + bytes(9, raw<int16_t>({300, -2})), DType::i32, {300, -2});
  expect_tensor(header(9) + bytes(9, std::string("\x00\x02", 2)), DType::boolean, {0, 1});
  expect_tensor(header(10) + bytes(9, raw<uint16_t>({0x3c00, 0xc000})), DType::f16, {1, -2});
}

TEST(OnnxReader, EmptyTensorsAndScalars) {
  EXPECT_EQ(read_tensor(number(1, 0) + number(1, 3) + number(2, 1)).shape(), (Shape{0, 3}));
  EXPECT_EQ(read_tensor(number(2, 7) + number(7, 5)).item<int64_t>(), 5);
}

// f must refuse every beginning of the message, and read the whole of it.
template <class F>
void expect_no_beginning(const std::string& message, F f) {
  for (size_t n = 0; n < message.size(); ++n)
    EXPECT_THROW(f(std::string_view(message).substr(0, n)), DataError) << n << " bytes";
  EXPECT_NO_THROW(f(message));
}

TEST(OnnxReader, EveryCutOffTensorIsRefused) {
  expect_no_beginning(header(1) + bytes(9, raw<float>({1, 2})), read_tensor);
  expect_no_beginning(header(7, true) + bytes(7, varint(300) + varint(4)), read_tensor);
  expect_no_beginning(header(11) + bytes(10, raw<double>({1, 2})), read_tensor);
}

TEST(OnnxReader, DamagedTensorsAreRefused) {
  const auto refused = [](const std::string& message) {
    EXPECT_THROW(read_tensor(message), DataError);
  };
  refused(header(1) + bytes(9, raw<float>({1})));                        // too few elements
  refused(header(1) + bytes(9, raw<float>({1, 2, 3})));                  // too many
  refused(header(1) + bytes(4, raw<char>({1, 2, 3})));                   // not whole ones
  refused(number(1, -1) + number(2, 1));                                 // a negative size
  refused(number(1, uint64_t{1} << 62) + number(2, 1) + fixed32(4, 1));  // no memory holds it
  refused(number(1, 1 << 30) + number(1, 1 << 30) + number(2, 1));
  refused(number(1, 1));             // no type
  refused(varint(1 << 3 | 3));       // an unknown wire type
  refused(std::string(11, '\xff'));  // a number without end
  EXPECT_THROW(read_tensor(header(8) + bytes(6, "a") + bytes(6, "b")), Unsupported);  // text
}

std::string attribute(const std::string& name, const std::string& value) {
  return bytes(5, bytes(1, name) + value);
}
std::string small_model() {
  const std::string tensor_type = bytes(2, bytes(1, number(1, 1)));
  const std::string node = bytes(1, "x") + bytes(1, "") + bytes(2, "y") + bytes(4, "Pool") +
                           attribute("alpha", fixed32(2, 0.5)) + attribute("axis", number(3, -1)) +
                           attribute("mode", bytes(4, "edge")) +
                           attribute("pads", bytes(8, varint(1) + varint(-2))) +
                           attribute("value", bytes(5, number(2, 7) + number(7, 5)));
  const std::string constant = number(2, 7) + number(7, 5) + bytes(8, "five");
  return bytes(7, bytes(1, node) + bytes(5, constant) + bytes(11, bytes(1, "x") + tensor_type) +
                      bytes(12, bytes(1, "y") + tensor_type)) +
         bytes(8, number(2, 13));
}

TEST(OnnxReader, Model) {
  const Graph graph = read_model(small_model());
  EXPECT_EQ(graph.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(graph.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(graph.other_type, "");
  EXPECT_EQ(graph.opsets.at(""), 13);
  EXPECT_EQ(graph.constants.at("five").item<int64_t>(), 5);
  const Node& node = graph.nodes.at(0);
  EXPECT_EQ(node.op, "Pool");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(node.real("alpha", 1), 0.5);
  EXPECT_EQ(node.integer("axis", 0), -1);
  EXPECT_EQ(node.text("mode", ""), "edge");
  EXPECT_EQ(node.integer("absent", 3), 3);
  EXPECT_EQ(node.unread(), (std::vector<std::string>{"pads", "value"}));
  EXPECT_EQ(node.integers("pads", {}), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(node.tensor("value").item<int64_t>(), 5);
}

TEST(OnnxReader, EveryCutOffModelIsRefused) { expect_no_beginning(small_model(), read_model); }

TEST(OnnxReader, OtherTypesAreNamed) {
  const std::string sequence = bytes(11, bytes(1, "s") + bytes(2, bytes(4, "")));
  const std::string model =
      bytes(7, bytes(1, bytes(4, "Identity")) + sequence) + bytes(8, number(2, 16));
  EXPECT_EQ(read_model(model).other_type, "s");
}

}  // namespace
}  // namespace plimsoll::onnx
