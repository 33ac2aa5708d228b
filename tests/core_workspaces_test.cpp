// The workspaces of a captured step: on a GPU asked for by several threads, once for each kind of
// call, with the strides of its inputs.
#include "core/workspaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/cpu/parallel.h"
#include "tests/errors.h"

namespace plimsoll {
namespace {

std::mutex mutex;
std::vector<std::pair<Shape, Strides>> asked;  // guarded by it

// Rows, and a thousand where they are read across.
int64_t rows_and_strides(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  const std::span<const Strides> strides = asked_strides();
  const std::lock_guard lock(mutex);
  asked.emplace_back(in[0].shape, strides.empty() ? Strides() : strides[0]);
  return in[0].shape[0] + (!strides.empty() && strides[0][0] == 1 ? 1000 : 0);
}

// Returns when two threads are in it, or late.
int64_t together(std::span<const Meta> in, std::span<const Meta>, const Attrs&) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  {
    const std::lock_guard lock(mutex);
    asked.emplace_back(in[0].shape, Strides());
  }
  while (std::chrono::steady_clock::now() < give_up) {
    {
      const std::lock_guard lock(mutex);
      if (asked.size() == 2) return 1;
    }
    std::this_thread::yield();
  }
  return 0;
}

int64_t refuses(std::span<const Meta>, std::span<const Meta>, const Attrs&) {
  fail<DeviceError>("probe: no device: none. Plug one in.");
}

constexpr OpDef probe_op{.name = "probe", .infer = same_as_input, .workspace = rows_and_strides};
constexpr OpDef together_op{.name = "together", .infer = same_as_input, .workspace = together};
constexpr OpDef refusing_op{.name = "refusing", .infer = same_as_input, .workspace = refuses};
constexpr OpDef plain_op{.name = "plain", .infer = same_as_input};

Program program_on(Device device) {
  Program program;
  program.device = device;
  return program;
}

void append(Program& program, const OpDef& op, const Shape& shape, const Strides& strides) {
  const Meta meta{shape, DType::f32, program.device};
  program.instructions.push_back(
      {.op = &op,
       .in = {{.buffer = 0, .meta = meta, .strides = strides}},
       .out = {{.buffer = 1, .meta = meta, .strides = row_major(shape)}}});
}

class Workspaces : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override { asked.clear(); }
};

TEST_P(Workspaces, AreThoseOfEachCall) {
  Program program = program_on(GetParam());
  for (int again = 0; again < 3; ++again) {
    append(program, probe_op, {4, 6}, {6, 1});
    append(program, plain_op, {4, 6}, {6, 1});
    append(program, probe_op, {4, 6}, {1, 4});
    append(program, probe_op, {5, 6}, {6, 1});
  }
  find_workspaces(program);
  std::vector<int64_t> found;
  for (const Instruction& instruction : program.instructions)
    found.push_back(instruction.workspace);
  EXPECT_EQ(found, (std::vector<int64_t>{4, 0, 1004, 5, 4, 0, 1004, 5, 4, 0, 1004, 5}));
  if (GetParam() == Device::cuda) {
    EXPECT_EQ(asked.size(), size_t{3});  // each kind once
  }
  EXPECT_TRUE(asked_strides().empty());
}

TEST_P(Workspaces, AnErrorComesOut) {
  Program program = program_on(GetParam());
  append(program, probe_op, {4, 6}, {6, 1});
  append(program, refusing_op, {4, 6}, {6, 1});
  expect_error<DeviceError>([&] { find_workspaces(program); },
                            "probe: no device: none. Plug one in.");
  EXPECT_TRUE(asked_strides().empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, Workspaces,
                         testing::Values(Device::cpu, Device::cuda, Device::null),
                         [](const auto& device) { return std::string(name_of(device.param)); });

TEST(WorkspacesOfAGpu, AreFoundBySeveralThreads) {
  asked.clear();
  const int threads = num_threads();
  set_num_threads(2);
  Program program = program_on(Device::cuda);
  append(program, together_op, {4, 6}, {6, 1});
  append(program, together_op, {5, 6}, {6, 1});
  find_workspaces(program);
  set_num_threads(threads);
  for (const Instruction& instruction : program.instructions) EXPECT_EQ(instruction.workspace, 1);
}

}  // namespace
}  // namespace plimsoll
