// DLPack: tensors handed to other libraries in the same process, without a copy
// (https://dmlc.github.io/dlpack/latest/, ABI version 1).
//
//   DLManagedTensorVersioned* shared = to_dlpack(x);   // a PyCapsule "dltensor_versioned" holds it
//   shared->deleter(shared);                            // whoever takes it does this, once
//   Tensor y = from_dlpack(theirs);                     // y owns it now
//
// The structs are laid out as the standard's dlpack.h has them, so a pointer to one is a pointer to
// the other. Both sides see what either writes. Memory of the host only: move others with
// to_device() first.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll::formats {

struct DLPackVersion {
  uint32_t major, minor;
};
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      // in elements; null: row-major
  uint64_t byte_offset;  // from data to the first element
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);  // may be null
  uint64_t flags;
  DLTensor dl_tensor;
};

constexpr DLPackVersion kDlpackVersion{1, 0};
constexpr int32_t kDlpackCpu = 1;
enum DlpackCode : uint8_t {
  kDlpackInt = 0,
  kDlpackUint = 1,
  kDlpackFloat = 2,
  kDlpackBfloat = 4,
  kDlpackBool = 6
};
constexpr uint64_t kDlpackReadOnly = 1;

// A view of x, with its strides, that keeps its memory alive until the deleter is called.
// StateError for an undefined tensor and while a step is being captured, DeviceError for one that
// is not in the host's memory.
DLManagedTensorVersioned* to_dlpack(const Tensor& x);

// A tensor in the same memory, with the same strides; of one that may only be read, a copy. The
// deleter is called when nothing uses the memory any more, by the thread that used it last.
// ValueError, and the caller still owns it: another version than 1, types, devices or strides that
// the engine does not have, more than 8 axes, addresses off the boundary of the type. ShapeError,
// likewise: sizes whose product or whose bytes do not fit 63 bits.
Tensor from_dlpack(DLManagedTensorVersioned* shared);

}  // namespace plimsoll::formats
