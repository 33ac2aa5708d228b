// DLPack: what is shared is the same memory, lives as long as somebody uses it, and is refused when
// the engine cannot see it as it is.
#include "formats/dlpack.h"

#include "ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/python.h"

namespace plimsoll::formats {
namespace {

using Floats = std::vector<float>;

// A tensor of somebody else over these numbers; it counts how often it was given back.
struct Theirs {
  Floats data = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int64_t> shape = {2, 3}, strides = {3, 1};
  int given_back = 0;
  DLManagedTensorVersioned managed{
      .version = {1, 1},
      .manager_ctx = this,
      .deleter = [](auto* it) { ++static_cast<Theirs*>(it->manager_ctx)->given_back; },
      .flags = 0,
      .dl_tensor = {.data = data.data(),
                    .device = {kDlpackCpu, 0},
                    .ndim = 2,
                    .dtype = {kDlpackFloat, 32, 1},
                    .shape = shape.data(),
                    .strides = strides.data(),
                    .byte_offset = 0}};
};

TEST(Dlpack, OursIsTheSameMemoryUntilTheDeleter) {
  const int64_t before = Storage::live();
  Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  DLManagedTensorVersioned* shared = to_dlpack(slice(transpose(x), 0, 1, 3));
  const DLTensor& view = shared->dl_tensor;
  EXPECT_EQ(shared->version.major, 1U);
  EXPECT_EQ(view.ndim, 2);
  EXPECT_EQ(view.shape[0], 2);
  EXPECT_EQ(view.shape[1], 2);
  EXPECT_EQ(view.strides[0], 1);
  EXPECT_EQ(view.strides[1], 3);
  float* const data = static_cast<float*>(view.data);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[3], 4);
  data[3] = 40;
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 1, 2, 3, 40, 5}));
  x = Tensor();
  EXPECT_EQ(data[3], 40);
  EXPECT_EQ(Storage::live(), before + 1);
  shared->deleter(shared);
  EXPECT_EQ(Storage::live(), before);
}

TEST(Dlpack, EveryTypeGoesThereAndBack) {
  const Tensor x = Tensor::of<float>({1, 0, 3, 4, 5, 6}, {3, 2});
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::u8, DType::boolean}) {
    const Tensor ours = cast(x, dtype);
    const Tensor back = from_dlpack(to_dlpack(transpose(ours)));
    EXPECT_EQ(back.meta(), transpose(ours).meta());
    EXPECT_EQ(view_of(back.value()).data, view_of(ours.value()).data);
    EXPECT_EQ(back.to_vector<double>(), transpose(ours).to_vector<double>());
  }
  EXPECT_EQ(from_dlpack(to_dlpack(Tensor::of<float>({7}, {}))).item(), 7);
  EXPECT_EQ(from_dlpack(to_dlpack(Tensor::of<float>({}, {2, 0}))).shape(), (Shape{2, 0}));
}

TEST(Dlpack, TheirsLivesAsLongAsItIsUsed) {
  Theirs theirs;
  theirs.managed.dl_tensor.byte_offset = sizeof(float);
  Tensor row;
  {
    const Tensor x = from_dlpack(&theirs.managed);
    EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3, 4, 5, 6}));
    x.write(std::span<const float>(Floats{10, 20, 30, 40, 50, 60}));
    EXPECT_EQ(theirs.data, (Floats{0, 10, 20, 30, 40, 50, 60, 7}));
    row = slice(x, 0, 1, 2);
  }
  EXPECT_EQ(theirs.given_back, 0);
  EXPECT_EQ((row + row).to_vector<float>(), (Floats{80, 100, 120}));
  row = Tensor();
  EXPECT_EQ(theirs.given_back, 1);
}

TEST(Dlpack, StridesOfTheirs) {
  Theirs columns, repeated, none, empty;
  columns.strides = {1, 2};
  EXPECT_EQ(from_dlpack(&columns.managed).to_vector<float>(), (Floats{0, 2, 4, 1, 3, 5}));
  repeated.strides = {0, 1};
  EXPECT_EQ(from_dlpack(&repeated.managed).to_vector<float>(), (Floats{0, 1, 2, 0, 1, 2}));
  none.managed.dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&none.managed).to_vector<float>(), (Floats{0, 1, 2, 3, 4, 5}));
  empty.shape = {0, 3};
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.managed).count(), 0);
  for (const Theirs* theirs : {&columns, &repeated, &none, &empty})
    EXPECT_EQ(theirs->given_back, 1);
}

TEST(Dlpack, WhatMayOnlyBeReadIsCopied) {
  Theirs theirs;
  theirs.managed.flags = kDlpackReadOnly;
  const Tensor x = from_dlpack(&theirs.managed);
  EXPECT_EQ(theirs.given_back, 1);
  x.write(std::span<const float>(Floats(6, 9)));
  EXPECT_EQ(theirs.data[0], 0);
}

template <class Change>
std::string refusal(const Change& change) {
  Theirs theirs;
  change(theirs, theirs.managed.dl_tensor);
  const std::string error = error_of<ValueError>([&] { from_dlpack(&theirs.managed); });
  EXPECT_EQ(theirs.given_back, 0) << "the caller still owns it: " << error;
  return error;
}

TEST(Dlpack, RefusesWhatTheEngineCannotSeeAsItIs) {
  EXPECT_EQ(refusal([](Theirs& it, DLTensor&) { it.managed.version.major = 2; }),
            "dlpack: version 2.1 is not read. Ask for version 1.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) { x.device.type = 2; }),
            "dlpack: the memory is not the host's: device type 2. Copy it there first.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) {
              x.dtype = {kDlpackInt, 8, 1};
            }),
            "dlpack: the type is not known: code 0, 8 bits, 1 lanes. Convert it to f64 f32 f16 "
            "bf16 i64 i32 u8 or bool.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) { x.dtype.lanes = 4; }),
            "dlpack: the type is not known: code 2, 32 bits, 4 lanes. Convert it to f64 f32 f16 "
            "bf16 i64 i32 u8 or bool.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) { x.ndim = 9; }),
            "dlpack: the number of axes is not 0 to 8: 9. Reshape it.");
  EXPECT_EQ(refusal([](Theirs& it, DLTensor&) { it.shape[0] = -1; }),
            "dlpack: a size is below 0: [-1, 3]. Use sizes of 0 or more.");
  EXPECT_EQ(refusal([](Theirs& it, DLTensor&) { it.strides[0] = -3; }),
            "dlpack: a stride is below 0: [-3, 1]. Copy it into row-major order.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) { x.byte_offset = 2; }),
            "dlpack: the memory does not begin on a boundary of 4 bytes, the size of f32. Copy it "
            "first.");
  EXPECT_EQ(refusal([](Theirs&, DLTensor& x) { x.data = nullptr; }),
            "dlpack: there is no memory for f32 [2, 3] on cpu. Pass a tensor that has some.");
  expect_error<ValueError>([] { from_dlpack(nullptr); }, "dlpack: there is no tensor. Pass one.");
  Theirs huge;
  huge.strides[0] = int64_t{1} << 62;
  EXPECT_THROW(from_dlpack(&huge.managed), ShapeError);
  EXPECT_EQ(huge.given_back, 0);
}

TEST(Dlpack, RefusesWhatHasNoMemoryHere) {
  expect_error<StateError>([] { to_dlpack(Tensor()); },
                           "dlpack: the tensor is undefined. Pass one that was computed.");
  expect_error<DeviceError>([] { to_dlpack(zeros({2}, {.device = Device::null})); },
                            "dlpack: the memory is not the host's: f32 [2] on null. Copy it with "
                            "to_device(x, Device::cpu).");
}

TEST(Dlpack, NumpyAndPytorchShareTheMemory) {
#ifdef PLIMSOLL_DLPACK_PROBE
  NEEDS_PYTHON("numpy, torch");
  const python::Outcome outcome = python::run("formats/dlpack_share.py", {PLIMSOLL_DLPACK_PROBE});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
#else
  GTEST_SKIP() << "Python needs the engine as a shared library: configure PLIMSOLL_ARCH=levels";
#endif
}

}  // namespace
}  // namespace plimsoll::formats
