// Random programs of real ops, with broadcasting, several types, norms of rows, dropout and values
// that many read: fused and not, they leave the same bits, in no more bytes.
#include "core/cpu/parallel.h"
#include "memory/fusion/fused.h"
#include "memory/step.h"
#include "tests/fused_programs.h"

namespace plimsoll {
namespace {

using namespace fused_programs;

constexpr uint32_t kPrograms = 4'000;

TEST(FusedPrograms, LeaveTheSameBitsInNoMoreBytes) {
  const int before = num_threads();
  const int64_t piece = detail::piece_elements;
  int64_t fused_ops = 0, members = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed + 1'000'000);
    const auto size = [&](uint32_t most) { return static_cast<int64_t>(random() % most); };
    const int64_t width = seed % 2 ? 8 * (1 + size(10)) : 1 + size(80);
    const Shape shape{size(5), 1 + size(9), seed % 7 == 0 ? 1 : width};
    detail::piece_elements = seed % 3 == 0 ? 16'384 : 256;  // tiles of all or of 64 elements
    set_num_threads(1 + static_cast<int>(seed % 3));
    const std::vector<Tensor> inputs{uniform(shape, -2, 2, seed), normal(shape, 0, 1, seed + 1),
                                     make_key(seed, 3)};
    const RandomProgram function{seed, shape};
    Step plain{StepFunction(function)}, fused{StepFunction(function), {.fusion = kFuseAll}};
    const Metas metas{inputs[0].meta(), inputs[1].meta(), inputs[2].meta()};
    EXPECT_LE(fused.plan(metas).arena_bytes, plain.plan(metas).arena_bytes);
    for (const Instruction& i : fused.program(metas).instructions)
      if (fusion::is_fused(i)) {
        ++fused_ops;
        members += std::ssize(i.attrs.as<fusion::Fused>().members);
      }
    const std::vector<Tensor> expected = plain.run(inputs);
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> actual = fused.run(inputs);
      for (size_t k = 0; k < expected.size(); ++k) expect_same_bits(actual[k], expected[k]);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(fused_ops, kPrograms / 3);
  EXPECT_GT(members, 2 * fused_ops);
  set_num_threads(before);
  detail::piece_elements = piece;
}

}  // namespace
}  // namespace plimsoll
