// .npy and .npz: bytes that come back, what numpy reads and writes, and every lie of a header.
#include "formats/npy.h"

#include "ops/ops.h"
#include "tests/data_testing.h"
#include "tests/npz_testing.h"
#include "tests/python.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;

struct Type {
  DType dtype;
  const char* name;
};
constexpr Type kTypes[] = {{DType::f64, "f8"},    {DType::f32, "f4"}, {DType::f16, "f2"},
                           {DType::i64, "i8"},    {DType::i32, "i4"}, {DType::u8, "u1"},
                           {DType::boolean, "b1"}};
const std::pair<Shape, const char*> kShapes[] = {
    {{}, ""},        {{0}, "0"},           {{1}, "1"},          {{5}, "5"},
    {{2, 3}, "2x3"}, {{2, 0, 3}, "2x0x3"}, {{2, 3, 4}, "2x3x4"}};

// 0, 1, 2, ...; as bool 0, 1, 0, ...
Tensor counted(DType dtype, const Shape& shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < count(shape); ++i)
    values.push_back(static_cast<double>(dtype == DType::boolean ? i % 2 : i));
  return cast(Tensor::of(std::span<const double>(values), shape), dtype);
}

// "f4-2x3" and so on, all types and shapes.
std::vector<NamedTensor> all_counted() {
  std::vector<NamedTensor> all;
  for (const Type& type : kTypes)
    for (const auto& [shape, sizes] : kShapes)
      all.push_back({cat(type.name, "-", sizes), counted(type.dtype, shape)});
  return all;
}

void expect_same(const Tensor& x, const Tensor& wanted, const std::string& what) {
  EXPECT_EQ(x.meta(), wanted.meta()) << what;
  EXPECT_TRUE(x.contiguous()) << what;
  EXPECT_EQ(x.to_vector<double>(), wanted.to_vector<double>()) << what;
}

TEST(Npy, EveryTypeAndShapeComesBack) {
  const TemporaryFolder dir;
  const auto all = all_counted();
  for (const auto& [name, x] : all) {
    write_npy(dir / "x.npy", x);
    expect_same(read_npy(dir / "x.npy"), x, name);
  }
  const Tensor x = counted(DType::f32, {2, 3});
  write_npy(dir / "x.npy", transpose(x));
  expect_same(read_npy(dir / "x.npy"), contiguous(transpose(x)), "a strided view");

  write_npz(dir / "all.npz", all);
  const auto read = read_npz(dir / "all.npz");
  ASSERT_EQ(read.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(read[i].name, all[i].name);
    expect_same(read[i].tensor, all[i].tensor, all[i].name);
  }
}

TEST(Npy, NumpyReadsOursAndWeReadNumpys) {
  NEEDS_PYTHON("numpy");
  const TemporaryFolder dir;
  const auto all = all_counted();
  for (const auto& [name, x] : all) write_npy(dir / ("ours-" + name + ".npy"), x);
  write_npz(dir / "ours.npz", all);
  const python::Outcome outcome = python::run("numpy_files.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const auto& [name, x] : all)
    EXPECT_EQ(data::read_text(dir / ("ours-" + name + ".npy")),
              data::read_text(dir / ("theirs-" + name + ".npy")))
        << name;
  for (const auto& [name, x] : all)
    for (const char* kind : {".npy", "-F.npy", "-v2.npy"})
      expect_same(read_npy(dir / ("theirs-" + name + kind)), x, name + kind);
  for (const char* archive : {"theirs.npz", "packed.npz"}) {
    const auto read = read_npz(dir / archive);
    ASSERT_EQ(read.size(), all.size()) << archive;
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(read[i].name, all[i].name) << archive;
      expect_same(read[i].tensor, all[i].tensor, all[i].name);
    }
  }
  const auto names = read_npz(dir / "names.npz");
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0].name, "größe");
  EXPECT_EQ(names[1].name, "大きさ");
  const auto refusal = [&](const std::string& name) {
    return error_of<DataError>([&] { read_npy(dir / ("refused-" + name + ".npy")); });
  };
  const auto path = [&](const std::string& name) { return dir.text("refused-" + name + ".npy"); };
  const std::string write = ". Write x.astype('float32'), or another of f8 f4 f2 i8 i4 u1 b1.";
  EXPECT_EQ(refusal("big"), "npy: the numbers are big-endian: '>f4' in " + path("big") +
                                ". Write x.astype(x.dtype.newbyteorder('<')).");
  EXPECT_EQ(refusal("i1"), "npy: elements of type '|i1' are not read: in " + path("i1") + write);
  EXPECT_EQ(refusal("c8"), "npy: elements of type '<c8' are not read: in " + path("c8") + write);
  EXPECT_EQ(refusal("text"),
            "npy: elements of type '<U1' are not read: in " + path("text") + write);
  EXPECT_EQ(refusal("object"),
            "npy: elements of type '|O' are not read: in " + path("object") + write);
  EXPECT_EQ(refusal("record"), "npy: the elements are records: in " + path("record") +
                                   ". Write each field as an array of its own.");
  EXPECT_EQ(refusal("deep"), "npy: there are more than 8 axes: in " + path("deep") +
                                 ". Write x.reshape(...) with fewer.");
}

// A file of format 1.0 with this dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data = "") {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(dictionary.size() & 0xff);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + dictionary + data;
}

std::string refusal(const std::string& bytes) {
  return error_of<DataError>([&] { parse_npy(std::as_bytes(std::span(bytes)), "f"); });
}

TEST(Npy, RefusesWhatIsNoArray) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  const std::string none = "npy: this is not a .npy file: f. Write it with numpy.save.";
  EXPECT_EQ(refusal(""), none);
  EXPECT_EQ(refusal("PK\3\4 and so on and on"), none);
  std::string bytes = npy(good, "1234");
  EXPECT_EQ(refusal(bytes), "nothing was thrown");
  bytes[6] = '\4';
  EXPECT_EQ(refusal(bytes),
            "npy: the format's version is not known: 4.0 in f. Write it with numpy.save.");
  EXPECT_EQ(refusal(npy(good).substr(0, 30)),
            "npy: the file ends in its header: f has 30 bytes. Fetch it again.");
  const std::string v2("\x93NUMPY\2\0\xff\xff\xff\xff", 12);
  EXPECT_EQ(refusal(v2), "npy: the file ends in its header: f has 12 bytes. Fetch it again.");
  EXPECT_EQ(refusal(v2.substr(0, 11)),
            "npy: the file ends in its header: f has 11 bytes. Fetch it again.");
  for (const char* dictionary :
       {"", "{}", "{'descr': '<f4', 'fortran_order': False}", "[1]", "{'descr': '<f4'",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'more': 1, 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
        "{'descr': '<f4', 'fortran_order': false, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order: False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"})
    EXPECT_EQ(refusal(npy(dictionary, "1234")),
              "npy: the header is not that of an array: in f. Write it with numpy.save.")
        << dictionary;
}

TEST(Npy, RefusesSizesThatDoNotMatchTheContent) {
  const auto f4 = [](const std::string& shape, const std::string& data) {
    return refusal(npy("{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + "}", data));
  };
  EXPECT_EQ(f4("(2,)", "1234"),
            "npy: header and content do not match: f claims f32 [2] and holds 4 bytes. Fetch it "
            "again.");
  EXPECT_EQ(f4("()", "12345"),
            "npy: header and content do not match: f claims f32 [] and holds 5 bytes. Fetch it "
            "again.");
  EXPECT_EQ(f4("(4294967296, 4294967296)", ""),
            "npy: header and content do not match: f claims f32 [4294967296, 4294967296] and holds "
            "0 bytes. Fetch it again.");
  EXPECT_EQ(f4("(0, 4294967296, 4294967296)", ""), "nothing was thrown");
  EXPECT_EQ(refusal(npy("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\2")),
            "npy: a bool is neither 0 nor 1: in f. Write it again.");
}

TEST(Npy, WhatCannotBeWrittenLeavesTheOldFile) {
  const TemporaryFolder dir;
  const fs::path path = dir.write("old", std::string("old"));
  const Tensor x = counted(DType::f32, {2});
  expect_error<DTypeError>([&] { write_npy(path, cast(x, DType::bf16)); },
                           "npy: NumPy has no bf16. Write cast(x, DType::f32).");
  expect_error<StateError>([&] { write_npy(path, Tensor()); },
                           "npy: the tensor is undefined. Pass one that was computed.");
  for (const std::vector<NamedTensor>& bad :
       {std::vector<NamedTensor>{{"a", x}, {"a", x}}, {{"a", x}, {"", x}}, {{"a", x}, {"ä", x}}})
    EXPECT_EQ(error_of<ValueError>([&] { write_npz(path, bad); }).substr(0, 44),
              "npz: the name number 2 is empty, there alrea");
  EXPECT_THROW(write_npz(path, {{{"a", cast(x, DType::bf16)}}}), DTypeError);
  EXPECT_EQ(fs::file_size(path), 3U);
  EXPECT_THROW(write_npz(dir / "no/where", {{{"a", x}}}), DataError);
  if (fs::exists("/dev/full")) {
    EXPECT_THROW(write_npz("/dev/full", {{{"a", x}}}), DataError);
    EXPECT_THROW(write_npy("/dev/full", x), DataError);
  }
}

std::string content_of(const Tensor& x) {
  std::string content;
  write_npy(
      [&](std::span<const std::byte> part) {
        content.append(reinterpret_cast<const char*>(part.data()), part.size());
      },
      x);
  return content;
}

TEST(Npz, ReadsDeflatedArrays) {
  const TemporaryFolder dir;
  const Tensor x = counted(DType::f32, {300, 100});
  const std::string bytes = deflated_npz("x.npy", content_of(x));
  EXPECT_LT(bytes.size(), 60'000U);
  dir.write("x.npz", bytes);
  const auto read = read_npz(dir / "x.npz", 120'128);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].name, "x");
  expect_same(read[0].tensor, x, "deflated");
  EXPECT_EQ(error_of<DataError>([&] { read_npz(dir / "x.npz", 120'127); }),
            "npz: the arrays of " + dir.text("x.npz") +
                " unpack to more than 120127 bytes. Write several files, or pass a higher limit.");
  const auto refused = [&](size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    dir.write("bad.npz", changed);
    return error_of<DataError>([&] { read_npz(dir / "bad.npz"); });
  };
  const std::string damaged = "npz: the archive is damaged: " + dir.text("bad.npz");
  const size_t central = bytes.find("PK\1\2");
  EXPECT_TRUE(refused(100, '\x7f').starts_with(damaged));
  EXPECT_EQ(refused(0, 'Q'), damaged + " (an entry). Fetch it again.");
  EXPECT_EQ(refused(central, 'Q'), damaged + " (its directory). Fetch it again.");
  EXPECT_EQ(refused(central + 24, 0), damaged + " (an entry). Fetch it again.");     // the size
  EXPECT_EQ(refused(central + 20, 0), damaged + " (an entry). Fetch it again.");     // packed
  EXPECT_EQ(refused(central + 45, 0x7f), damaged + " (an entry). Fetch it again.");  // the place
  for (const auto& [at, value] : {std::pair(8, 1), {10, 12}})
    EXPECT_TRUE(refused(central + at, static_cast<char>(value))
                    .starts_with("npz: an entry is encrypted or packed in a way that is not read"));
}

// What 32 bits do not hold has a field of 64 somewhere else.
TEST(Npz, ReadsWhatOnlyFieldsOf64BitsHold) {
  const TemporaryFolder dir;
  const auto number = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  std::string bytes = deflated_npz("x.npy", content_of(counted(DType::f32, {5})));
  const size_t central = bytes.find("PK\1\2"), end = bytes.find("PK\5\6");
  const std::string sizes = bytes.substr(central + 24, 4) + number(0, 4) +
                            bytes.substr(central + 20, 4) + number(0, 4) + number(0, 8);
  std::string entry = bytes.substr(central, end - central) + number(7, 2) + number(3, 2) + "abc" +
                      number(1, 2) + number(24, 2) + sizes;
  entry.replace(20, 8, 8, '\xff').replace(30, 2, number(35, 2)).replace(42, 4, 4, '\xff');
  bytes.resize(central);
  bytes += entry;
  const auto ends = [&](uint64_t count, uint64_t place) {
    return "PK\6\6" + number(44, 8) + number(45, 4) + number(0, 8) + number(count, 8) +
           number(count, 8) + number(entry.size(), 8) + number(place, 8) + "PK\6\7" + number(0, 4) +
           number(central + entry.size(), 8) + number(1, 4) + "PK\5\6" + number(0, 4) +
           std::string(12, '\xff') + number(0, 2);
  };
  dir.write("x.npz", bytes + ends(1, central));
  const auto read = read_npz(dir / "x.npz");
  ASSERT_EQ(read.size(), 1U);
  expect_same(read[0].tensor, counted(DType::f32, {5}), "zip64");
  for (const auto& [count, place] : {std::pair(uint64_t{2}, uint64_t{central}),
                                     {uint64_t{1}, uint64_t{central + 1}},
                                     {UINT64_MAX, UINT64_MAX}}) {
    dir.write("x.npz", bytes + ends(count, place));
    EXPECT_TRUE(error_of<DataError>([&] {
                  read_npz(dir / "x.npz");
                }).starts_with("npz: the archive is damaged: "));
  }
}

TEST(Npz, MoreArraysThan16BitsCountComeBack) {
  const TemporaryFolder dir;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 65'540; ++i) tensors.push_back({cat(i), Tensor::of<uint8_t>({7}, {})});
  write_npz(dir / "x.npz", tensors);
  const auto read = read_npz(dir / "x.npz");
  ASSERT_EQ(read.size(), tensors.size());
  EXPECT_EQ(read.back().name, "65539");
}

TEST(Npz, RefusesDamagedArchives) {
  const TemporaryFolder dir;
  const Tensor x = counted(DType::f32, {100});
  write_npz(dir / "x.npz", {{{"x", x}, {"y", x}}});
  std::ifstream file(dir / "x.npz", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto refused = [&](const std::string& content, int64_t limit = kMaxNpzBytes) {
    dir.write("bad.npz", content);
    return error_of<DataError>([&] { read_npz(dir / "bad.npz", limit); });
  };
  EXPECT_EQ(refused(bytes), "nothing was thrown");
  EXPECT_TRUE(refused("").starts_with("npz: ")) << refused("");
  EXPECT_TRUE(refused("no archive").starts_with("npz: this is not a zip archive: "));
  EXPECT_TRUE(refused(bytes.substr(0, bytes.size() / 3)).starts_with("npz: "));
  std::string changed = bytes;
  changed[400] = static_cast<char>(changed[400] ^ 1);  // an element of x: the sum is wrong
  EXPECT_TRUE(refused(changed).starts_with("npz: the archive is damaged: ")) << refused(changed);
  const int64_t all = 2 * (128 + 400);  // bytes of header and elements
  EXPECT_EQ(refused(bytes, all), "nothing was thrown");
  for (const int64_t limit : {all - 1, int64_t{528}, int64_t{527}, int64_t{0}})
    EXPECT_EQ(refused(bytes, limit),
              cat("npz: the arrays of ", dir.text("bad.npz"), " unpack to more than ", limit,
                  " bytes. Write several files, or pass a higher limit."));
  changed = bytes;
  for (size_t at = 0; (at = changed.find("y.npy", at)) != changed.npos; ++at) changed[at] = 'x';
  EXPECT_EQ(refused(changed), "npz: an entry is no .npy file, or there twice: number 2 of " +
                                  dir.text("bad.npz") + ". Write it with numpy.savez.");
}

}  // namespace
}  // namespace plimsoll::formats
