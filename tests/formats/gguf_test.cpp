// Files for llama.cpp: what no such file can hold, and blocks at the end of the numbers. That bytes
// are those of its own package is shown with models (tests/nn/published/gguf_test.cpp).
#include "formats/gguf.h"

#include "data/file.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::formats {
namespace {

TEST(Gguf, RefusesWhatIsNoTensorOfTheFormat) {
  const data::TemporaryFolder dir;
  const auto refusal = [&](std::vector<GgufTensor> tensors) {
    return error_of<ValueError>([&] { write_gguf(dir / "a", {}, tensors); });
  };
  EXPECT_EQ(refusal({{"a", ones({2, 33}), GgufType::q8_0}}),
            "gguf: rows are no whole blocks of 32: a is [2, 33] for q8_0. Use f16 for it.");
  EXPECT_EQ(refusal({{"a", ones({2})}, {"a", ones({2})}}),
            "gguf: the name a is taken. Give every tensor a name of its own.");
  EXPECT_EQ(refusal({{"a", ones({2}, {DType::i64})}}),
            "gguf: this is no tensor of 1 to 4 axes of a floating type: a is i64 [2] on cpu. Leave "
            "it out.");
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

// The scale is 0 in f16, and one over it is no number in f32.
TEST(Gguf, BlocksOfTinyNumbersAreZeros) {
  const data::TemporaryFolder dir;
  std::vector<float> tiny(32, 1e-38F);
  tiny[3] = 0;
  tiny[4] = -1e-38F;
  const Tensor row = Tensor::of(std::span<const float>(tiny), {1, 32});
  for (const auto& [type, codes, zero] :
       {std::tuple(GgufType::q8_0, size_t{32}, 0), {GgufType::q4_0, size_t{16}, 0x88}}) {
    write_gguf(dir / "a", {}, {{"a", row, type}});
    const data::Bytes bytes = data::read_file(dir / "a");
    const size_t padded = (2 + codes + 31) / 32 * 32, begin = bytes.size() - padded;
    EXPECT_EQ(static_cast<int>(bytes[begin]), 0) << name_of(type);
    EXPECT_EQ(static_cast<int>(bytes[begin + 1]) & 0x7f, 0) << name_of(type);  // or -0
    for (size_t i = 0; i < codes; ++i)
      EXPECT_EQ(static_cast<int>(bytes[begin + 2 + i]), zero) << name_of(type) << " " << i;
  }
}

}  // namespace
}  // namespace plimsoll::formats
