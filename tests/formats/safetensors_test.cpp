// The safetensors reader and writer: bytes that come back, files of others, and every lie a header
// can tell.
#include "formats/safetensors.h"

#include <ctime>
#include <fstream>

#include "core/engine/trace.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/foreign/foreign.h"
#include "tests/support/python.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;

// A file with this header, and this many bytes of data behind it.
std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, '\1');
}

std::vector<NamedTensor> every_type() {
  const Tensor x = Tensor::of<float>({1, -2, 3.5, 4, 5, 65504}, {2, 3});
  std::vector<NamedTensor> tensors;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::u8, DType::boolean})
    tensors.push_back({name_of(dtype), cast(x, dtype)});
  tensors.push_back({"scalar", Tensor::of<float>({7}, {})});
  tensors.push_back({"empty", Tensor::of<float>({}, {2, 0, 3})});
  tensors.push_back({"transposed", transpose(x, 0, 1)});
  tensors.push_back({"naïve \"\n\x7f", x});
  return tensors;
}

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Safetensors, EveryTypeComesBack) {
  const TemporaryFolder dir;
  const fs::path path = dir / "all.safetensors";
  const std::vector<NamedTensor> tensors = every_type();
  write_safetensors(path, tensors, {{"format", "pt"}, {"quote", "\"\\\x01"}});

  const Safetensors file(path);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"quote", "\"\\\x01"}}));
  ASSERT_EQ(file.names().size(), tensors.size());
  EXPECT_EQ(file.names().front(), "i64");  // the widest types first
  EXPECT_EQ(file.names().back(), "bool");
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(file.has(name)) << name;
    EXPECT_EQ(file.meta(name), tensor.meta()) << name;
    EXPECT_EQ(file.tensor(name).to_vector<double>(), tensor.to_vector<double>()) << name;
    const Tensor other = Tensor::empty(tensor.meta());
    file.read_into(name, other);
    EXPECT_EQ(other.to_vector<double>(), tensor.to_vector<double>()) << name;
  }
  EXPECT_FALSE(file.has("other"));
}

TEST(Safetensors, TheBytesAreThoseOfTheFormat) {
  std::string bytes;
  const auto sink = [&](std::span<const std::byte> part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  };
  const NamedTensor tensors[] = {{"b", Tensor::of<uint8_t>({9}, {})},
                                 {"y", Tensor::of<float>({1}, {1})},
                                 {"a", Tensor::of<float>({0}, {1, 1})}};
  write_safetensors(sink, tensors, {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
      R"("y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
      R"("b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  ASSERT_EQ(header.size() % 8, 1U);  // so seven spaces follow
  EXPECT_EQ(bytes, file_of(header + "       ", 0) + std::string("\0\0\0\0\0\0\x80\x3f\x09", 9));
  bytes.clear();
  write_safetensors(sink, {});
  EXPECT_EQ(bytes, file_of("{}      ", 0));
}

TEST(Safetensors, TheReferenceImplementationWritesTheSameBytes) {
  NEEDS_PYTHON("torch, safetensors");
  const TemporaryFolder dir;
  write_safetensors(dir / "ours", every_type(), {{"format", "pt"}});
  const python::Outcome outcome =
      python::run_words({"-c",
                         "import sys; from safetensors.torch import load_file, save_file; "
                         "save_file(load_file(sys.argv[1]), sys.argv[2], {'format': 'pt'})",
                         dir.text("ours"), dir.text("theirs")});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(bytes_of_file(dir / "theirs"), bytes_of_file(dir / "ours"));
}

TEST(Safetensors, WhatCannotBeWrittenLeavesTheOldFile) {
  const TemporaryFolder dir;
  const fs::path path = dir.write("old", std::string("old"));
  const Tensor x = Tensor::of<float>({1}, {1});
  const auto write = [&](const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
    write_safetensors(path, tensors, metadata);
  };
  expect_error<ValueError>(
      [&] {
        write({{"a", x}, {"a", x}});
      },
      "safetensors: the name \"a\" is taken. Give every tensor a name of its "
      "own.");
  expect_error<ValueError>(
      [&] {
        write({{"__metadata__", x}});
      },
      "safetensors: the name \"__metadata__\" is taken. Give every tensor a "
      "name of its own.");
  expect_error<ValueError>(
      [&] {
        write({{"\xff", x}});
      },
      "safetensors: a name or text is not UTF-8: \"\\ufffd\". Use another "
      "one.");
  expect_error<ValueError>(
      [&] {
        write({{"a", x}}, {{"a", "\xff"}});
      },
      "safetensors: a name or text is not UTF-8: \"\\ufffd\". Use another "
      "one.");
  expect_error<StateError>(
      [&] {
        write({{"a", Tensor()}});
      },
      "safetensors: tensor \"a\" is undefined. Write tensors that were "
      "computed.");
  EXPECT_EQ(error_of<DeviceError>([&] {
              write({{"a", x}, {"b", zeros({2}, {.device = Device::null})}});
            }),
            "safetensors: the null device has no bytes: f32 [2] on null. Compute on the cpu device "
            "to have values.");
  capture(
      [&](std::span<const Tensor> in) {
        EXPECT_THROW(write({{"a", in[0]}}), StateError);
        EXPECT_THROW(write({{"a", x}}), StateError);
        return std::vector<Tensor>{in[0]};
      },
      Metas{x.meta()});
  EXPECT_EQ(fs::file_size(path), 3U);
  expect_error<DataError>([&] { write_safetensors(dir / "no/where", {}); },
                          "safetensors: the file cannot be written: " + dir.text("no/where") +
                              " (No such file or directory). Name a file in a folder that exists "
                              "and is yours.");
  if (fs::exists("/dev/full"))
    expect_error<DataError>([&] { write_safetensors("/dev/full", {}); },
                            "safetensors: writing failed: /dev/full (No space left on device). "
                            "Look at the space on the disk.");
}

struct Refusal {
  const char* header;
  size_t data_bytes;
  const char* sentence;  // without the file and the advice
};

constexpr const char* kNoShape = "tensor \"a\" has no shape that is a list of whole numbers from 0";

// Each differs from a good file in one thing.
const Refusal kRefusals[] = {
    {"", 0, "the header is not a JSON object"},
    {"[]", 0, "the header is not a JSON object"},
    {"\xEF\xBB\xBF{}", 0, "the header is not a JSON object"},
    {"{", 0, "the header is not JSON in UTF-8: see its byte 2"},
    {"{} {}", 0, "the header is not JSON in UTF-8: see its byte 4"},
    {"{\"\xff\":1}", 0, "the header is not JSON in UTF-8: see its byte 3"},
    {R"({"\ud800":1})", 0, "the header is not JSON in UTF-8: see its byte 9"},
    {R"({"a":[]})", 0, "\"a\" is no object"},
    {R"({"a":null})", 0, "\"a\" is no object"},
    {R"({"a":{"dtype":3}})", 0, "tensor \"a\" has no dtype that is text"},
    {R"({"a":{"shape":{}}})", 0, "\"a\" holds objects, or lists of lists"},
    {R"({"a":{"shape":[[1]]}})", 0, "\"a\" holds objects, or lists of lists"},
    {R"({"a":{"dtype":"U8","shape":["1"]}})", 0, kNoShape},
    {R"({"a":{"dtype":"U8","shape":[true]}})", 0, kNoShape},
    {R"({"a":{"dtype":"U8","shape":[-1]}})", 0, kNoShape},
    {R"({"a":{"dtype":"U8","shape":[1e0]}})", 0, kNoShape},
    {R"({"a":{"dtype":"U8","shape":[18446744073709551616]}})", 0, kNoShape},
    {R"({"a":{"more":1}})", 0, "tensor \"a\" has a field \"more\" that is not of the format"},
    {R"({"a":{"dtype":"F32","dtype":"F32"}})", 0, "\"a\" has \"dtype\" twice"},
    {R"({"a":{"dtype":"F31"}})", 0, "tensor \"a\" has an unknown dtype: \"F31\""},
    {R"({"a":{}})", 0, "tensor \"a\" has no dtype that is text"},
    {R"({"a":{"dtype":"F32","data_offsets":[0,0]}})", 0, kNoShape},
    {R"({"a":{"dtype":"F32","shape":[0]}})", 0,
     "tensor \"a\" has no data_offsets that is a list of whole numbers from 0"},
    {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})", 0,
     "tensor \"a\" has 1 data_offsets where 2 belong"},
    {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})", 0,
     "tensor \"a\" has 3 data_offsets where 2 belong"},
    {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},
         "\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
     0, "the name \"a\" is there twice"},
    {R"({"__metadata__":{},"__metadata__":{}})", 0, "the name \"__metadata__\" is there twice"},
    {R"({"__metadata__":{"k":"v","k":"v"}})", 0, "\"__metadata__\" has \"k\" twice"},
    {R"({"__metadata__":{"k":1}})", 0, "the metadata \"k\" is no text"},
    {R"({"__metadata__":{"k":{"l":{"m":1}}}})", 0,
     "\"__metadata__\" holds objects, or lists of lists"},
    {R"({"__metadata__":[]})", 0, "\"__metadata__\" is no object"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1,
     "tensor \"a\" ends before it begins, from byte 1 to 0"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
     "tensor \"a\" begins at byte 1 of the data where the one before ends at 0"},
    {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
         "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
     3, "tensor \"b\" begins at byte 1 of the data where the one before ends at 2"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
     "tensor \"a\" has 4 bytes, which its shape and dtype F32 do not give"},
    {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1,
     "tensor \"a\" has 1 bytes, which its shape and dtype F4 do not give"},
    {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
     "tensor \"a\" has 0 bytes, which its shape and dtype U8 do not give"},
    {R"({"a":{"dtype":"U64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
     "tensor \"a\" has 0 bytes, which its shape and dtype U64 do not give"},
    {R"({"a":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]}})", 0,
     "tensor \"a\" has 0 bytes, which its shape and dtype U8 do not give"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2,
     "the tensors end at byte 1 of the data, the file at 2"},
    {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1,
     "the tensors end at byte 2 of the data, the file at 1"},
};

TEST(Safetensors, RefusesEveryLieInOneSentence) {
  const TemporaryFolder dir;
  for (const Refusal& refusal : kRefusals) {
    const fs::path path = dir.write("f", file_of(refusal.header, refusal.data_bytes));
    const std::string error = error_of<DataError>([&] { Safetensors file(path); });
    EXPECT_TRUE(error.starts_with(cat("safetensors: ", refusal.sentence, ": in ", path.string())))
        << error;
  }
}

TEST(Safetensors, RefusesLengthsThatDoNotFit) {
  const TemporaryFolder dir;
  const auto refusal = [&](const std::string& bytes) {
    const fs::path path = dir.write("f", bytes);
    return error_of<DataError>([&] { Safetensors file(path); });
  };
  const std::string name = dir.text("f");
  EXPECT_EQ(refusal(""), "safetensors: the file is too short: " + name +
                             " has 0 of at least 8 bytes. Name a safetensors file.");
  EXPECT_EQ(refusal(std::string(8, '\xff')),
            "safetensors: the header does not fit: " + name +
                " claims 18446744073709551615 bytes of it and has 0 (at most 100000000). Name a "
                "safetensors file, or fetch it again.");
  std::string cut = file_of("{}", 0);
  cut.pop_back();
  EXPECT_TRUE(refusal(cut).starts_with("safetensors: the header does not fit")) << refusal(cut);
  EXPECT_EQ(error_of<DataError>([&] { Safetensors file(dir / "none"); }),
            "safetensors: the file cannot be opened: " + dir.text("none") +
                " (No such file or directory). Check the path and its permissions.");
  EXPECT_EQ(error_of<DataError>([&] { Safetensors file(dir.path()); }),
            "safetensors: this is not a regular file: " + dir.path().string() + ". Name a file.");
}

TEST(Safetensors, WhatTheEngineLacksIsRefusedWhenItIsAskedFor) {
  const TemporaryFolder dir;
  const fs::path path = dir.write(
      "f", file_of(R"({"f8":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                   R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[2,3]},)"
                   R"("bool":{"dtype":"BOOL","shape":[2],"data_offsets":[3,5]},)"
                   R"("x":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})",
                   7));
  const Safetensors file(path);
  const std::string name = path.string();
  EXPECT_EQ(file.names(), (std::vector<std::string>{"f8", "deep", "bool", "x"}));
  expect_error<DataError>(
      [&] { file.meta("f8"); },
      "safetensors: tensor \"f8\" has F8_E4M3 elements, which are not read: in " + name +
          ". Convert the file.");
  expect_error<DataError>([&] { file.tensor("deep"); },
                          "safetensors: tensor \"deep\" has 9 axes, at most 8 are read: in " +
                              name + ". Convert the file.");
  expect_error<DataError>([&] { file.tensor("y"); },
                          "safetensors: there is no tensor \"y\" among the 4 of " + name +
                              ". Check that the file belongs to this model.");
  expect_error<DataError>(
      [&] {
        file.read_into("x", Tensor::of<float>({1, 2}, {2}));
      },
      "safetensors: tensor \"x\" is u8 [2] in " + name +
          " and f32 [2] here. Build the model that was saved.");
  EXPECT_EQ(file.tensor("bool").to_vector<uint8_t>(), (std::vector<uint8_t>{1, 1}));
  dir.write("f2", file_of(R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 0) + "\2");
  expect_error<DataError>([&] { Safetensors(dir / "f2").tensor("b"); },
                          "safetensors: a bool is neither 0 nor 1: in tensor \"b\" of " +
                              dir.text("f2") + ". Write it again.");
}

// Opens every file of a folder. Returns how many there were; none where there is no such folder.
template <class Visit>
int each_foreign(const char* name, const Visit& visit) {
  const fs::path folder = *foreign::folder() / "safetensors" / name;
  int files = 0;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::clock_t start = std::clock();  // of the processor: others may use it too
    visit(entry.path());
    EXPECT_LE(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 0.1) << entry.path();
    ++files;
  }
  return files;
}

TEST(ForeignSafetensors, ValidFilesAreRead) {
  NEEDS_FOREIGN();
  const int files = each_foreign("valid", [](const fs::path& path) {
    const Safetensors file(path);
    for (const std::string& name : file.names()) {
      try {
        EXPECT_EQ(file.tensor(name).meta(), file.meta(name));
      } catch (const DataError& e) {
        EXPECT_NE(std::string(e.what()).find("elements, which are not read"), std::string::npos)
            << path << ": " << e.what();
      }
    }
  });
  if (files == 0) GTEST_SKIP() << "PLIMSOLL_FOREIGN has no files in safetensors/valid";
}

TEST(ForeignSafetensors, InvalidFilesAreRefused) {
  NEEDS_FOREIGN();
  const int files = each_foreign("invalid", [](const fs::path& path) {
    EXPECT_THROW(Safetensors file(path), DataError) << path;
  });
  if (files == 0) GTEST_SKIP() << "PLIMSOLL_FOREIGN has no files in safetensors/invalid";
}

// Bytes of this process that files have.
int64_t mapped_bytes_here() {
  std::ifstream status("/proc/self/status");
  int64_t bytes = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:") || line.starts_with("RssShmem:"))  // the latter in a tmpfs
      bytes += std::stoll(line.substr(line.find(':') + 1)) * 1024;
  return bytes;
}

TEST(Safetensors, PagesOfAMappedTensorGoWithIt) {
  const data::TemporaryFolder dir;
  constexpr int64_t kBytes = int64_t{64} << 20;
  write_safetensors(dir / "large", std::vector<NamedTensor>{{"a", full({kBytes / 4}, 3, {})}});
  const Safetensors file(dir / "large");
  const int64_t before = mapped_bytes_here();
  {
    const Tensor tensor = file.mapped("a");
    EXPECT_EQ(mean(tensor).item(), 3);
    EXPECT_GT(mapped_bytes_here(), before + kBytes / 2);
  }
  EXPECT_LT(mapped_bytes_here(), before + kBytes / 8);
  EXPECT_EQ(mean(file.mapped("a")).item(), 3);
}

}  // namespace
}  // namespace plimsoll::formats
