// The workspaces of a captured step: of each call, with the strides of its inputs.
#include "core/workspaces.h"

#include <gtest/gtest.h>

#include "tests/errors.h"

namespace plimsoll {
namespace {

// Rows, and a thousand where they are read across.
int64_t rows_and_strides(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  const std::span<const Strides> strides = asked_strides();
  return in[0].shape[0] + (!strides.empty() && strides[0][0] == 1 ? 1000 : 0);
}

int64_t refuses(std::span<const Meta>, std::span<const Meta>, const Attrs&) {
  fail<DeviceError>("probe: no device: none. Plug one in.");
}

constexpr OpDef probe_op{.name = "probe", .infer = same_as_input, .workspace = rows_and_strides};
constexpr OpDef refusing_op{.name = "refusing", .infer = same_as_input, .workspace = refuses};
constexpr OpDef plain_op{.name = "plain", .infer = same_as_input};

void append(Program& program, const OpDef& op, const Shape& shape, const Strides& strides) {
  const Meta meta{shape, DType::f32, program.device};
  program.instructions.push_back(
      {.op = &op,
       .in = {{.buffer = 0, .meta = meta, .strides = strides}},
       .out = {{.buffer = 1, .meta = meta, .strides = row_major(shape)}}});
}

TEST(Workspaces, AreThoseOfEachCall) {
  Program program;
  append(program, probe_op, {4, 6}, {6, 1});
  append(program, plain_op, {4, 6}, {6, 1});
  append(program, probe_op, {4, 6}, {1, 4});
  append(program, probe_op, {5, 6}, {6, 1});
  find_workspaces(program);
  std::vector<int64_t> found;
  for (const Instruction& instruction : program.instructions)
    found.push_back(instruction.workspace);
  EXPECT_EQ(found, (std::vector<int64_t>{4, 0, 1004, 5}));
  EXPECT_TRUE(asked_strides().empty());
}

TEST(Workspaces, AnErrorComesOut) {
  Program program;
  append(program, probe_op, {4, 6}, {6, 1});
  append(program, refusing_op, {4, 6}, {6, 1});
  expect_error<DeviceError>([&] { find_workspaces(program); },
                            "probe: no device: none. Plug one in.");
  EXPECT_TRUE(asked_strides().empty());
}

}  // namespace
}  // namespace plimsoll
