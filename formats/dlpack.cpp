#include "formats/dlpack.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/cpu/copy.h"
#include "core/engine/trace.h"
#include "core/tensor/foreign_memory.h"

namespace plimsoll::formats {
namespace {

struct Type {
  DType dtype;
  DLDataType theirs;
};
constexpr Type kTypes[] = {
    {DType::f64, {kDlpackFloat, 64, 1}}, {DType::f32, {kDlpackFloat, 32, 1}},
    {DType::f16, {kDlpackFloat, 16, 1}}, {DType::bf16, {kDlpackBfloat, 16, 1}},
    {DType::i64, {kDlpackInt, 64, 1}},   {DType::i32, {kDlpackInt, 32, 1}},
    {DType::u8, {kDlpackUint, 8, 1}},    {DType::boolean, {kDlpackBool, 8, 1}},
};

// What is handed out: the struct, and what it points to.
struct Shared {
  DLManagedTensorVersioned managed{};
  Value value;
  std::array<int64_t, kMaxRank> shape{}, strides{};
};

// Lets go of what was shared when nothing uses its memory any more, if it was taken over at all.
class Shelter {
 public:
  explicit Shelter(DLManagedTensorVersioned* shared) : shared_(shared) {}
  ~Shelter() {
    if (owned_ && shared_->deleter) shared_->deleter(shared_);
  }
  Shelter(const Shelter&) = delete;
  Shelter& operator=(const Shelter&) = delete;
  void own() { owned_ = true; }

 private:
  DLManagedTensorVersioned* shared_;
  bool owned_ = false;
};

DType dtype_from(const DLDataType& theirs) {
  const auto type = std::ranges::find_if(kTypes, [&](const Type& t) {
    return t.theirs.code == theirs.code && t.theirs.bits == theirs.bits &&
           t.theirs.lanes == theirs.lanes;
  });
  check<ValueError>(type != std::end(kTypes), "dlpack: the type is not known: code ",
                    int{theirs.code}, ", ", int{theirs.bits}, " bits, ", int{theirs.lanes},
                    " lanes. Convert it to f64 f32 f16 bf16 i64 i32 u8 or bool.");
  return type->dtype;
}

// The elements as a value that has no storage yet.
Value value_from(const DLTensor& theirs) {
  check<ValueError>(
      theirs.ndim >= 0 && theirs.ndim <= kMaxRank && (theirs.ndim == 0 || theirs.shape),
      "dlpack: the number of axes is not 0 to ", kMaxRank, ": ", theirs.ndim, ". Reshape it.");
  Value value{.meta = {.shape = {}, .dtype = dtype_from(theirs.dtype), .device = Device::cpu},
              .strides = {},
              .offset = 0,
              .storage = {}};
  for (int axis = 0; axis < theirs.ndim; ++axis) value.meta.shape.push_back(theirs.shape[axis]);
  const bool possible = std::ranges::all_of(value.meta.shape, [](int64_t n) { return n >= 0; });
  check<ValueError>(possible, "dlpack: a size is below 0: ", value.meta.shape,
                    ". Use sizes of 0 or more.");
  if (!theirs.strides) {
    value.strides = row_major(value.meta.shape);
    return value;
  }
  for (int axis = 0; axis < theirs.ndim; ++axis) value.strides.push_back(theirs.strides[axis]);
  const bool forwards = std::ranges::all_of(value.strides, [](int64_t n) { return n >= 0; });
  check<ValueError>(forwards || count(value.meta.shape) == 0,
                    "dlpack: a stride is below 0: ", value.strides,
                    ". Copy it into row-major order.");
  return value;
}

// Bytes from the first element to the end of the last.
int64_t extent(const Value& value) {
  if (count(value.meta.shape) == 0) return 0;
  int64_t last = 0;
  for (int axis = 0; axis < value.meta.shape.rank(); ++axis)
    last = checked_add(last, checked_mul(value.meta.shape[axis] - 1, value.strides[axis], "dlpack"),
                       "dlpack");
  return checked_mul(checked_add(last, 1, "dlpack"), size_of(value.meta.dtype), "dlpack");
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Tensor& x) {
  check<StateError>(x.defined(), "dlpack: the tensor is undefined. Pass one that was computed.");
  check<StateError>(!Trace::current() && !x.value().storage->is_symbolic(),
                    "dlpack: a step is being captured: ", x.meta(),
                    " has no memory. Share it "
                    "between the steps.");
  check<DeviceError>(x.device() == Device::cpu, "dlpack: the memory is not the host's: ", x.meta(),
                     ". Copy it with to_device(x, Device::cpu).");
  auto shared = std::make_unique<Shared>();
  shared->value = x.value();
  std::copy_n(x.shape().begin(), x.rank(), shared->shape.begin());
  std::copy_n(x.value().strides.begin(), x.rank(), shared->strides.begin());
  const auto type = std::ranges::find(kTypes, x.dtype(), &Type::dtype);
  shared->managed = {
      .version = kDlpackVersion,
      .manager_ctx = shared.get(),
      .deleter = [](DLManagedTensorVersioned* it) { delete static_cast<Shared*>(it->manager_ctx); },
      .flags = 0,
      .dl_tensor = {.data = view_of(x.value()).data,  // not all readers heed byte_offset
                    .device = {kDlpackCpu, 0},
                    .ndim = x.rank(),
                    .dtype = type->theirs,
                    .shape = shared->shape.data(),
                    .strides = shared->strides.data(),
                    .byte_offset = 0}};
  return &shared.release()->managed;
}

Tensor from_dlpack(DLManagedTensorVersioned* shared) {
  check<ValueError>(shared != nullptr, "dlpack: there is no tensor. Pass one.");
  check<ValueError>(shared->version.major == kDlpackVersion.major, "dlpack: version ",
                    shared->version.major, ".", shared->version.minor,
                    " is not read. Ask for version 1.");
  const DLTensor& theirs = shared->dl_tensor;
  check<ValueError>(theirs.device.type == kDlpackCpu,
                    "dlpack: the memory is not the host's: device "
                    "type ",
                    theirs.device.type, ". Copy it there first.");
  Value value = value_from(theirs);
  const int64_t bytes = extent(value);
  std::byte* const data =
      theirs.data ? static_cast<std::byte*>(theirs.data) + theirs.byte_offset : nullptr;
  check<ValueError>(bytes == 0 || data, "dlpack: there is no memory for ", value.meta,
                    ". Pass a tensor that has some.");
  const auto boundary = static_cast<uintptr_t>(size_of(value.meta.dtype));
  check<ValueError>(bytes == 0 || reinterpret_cast<uintptr_t>(data) % boundary == 0,
                    "dlpack: the memory does not begin on a boundary of ", boundary,
                    " bytes, the size of ", value.meta.dtype, ". Copy it first.");
  const auto shelter = std::make_shared<Shelter>(shared);
  value.storage = foreign_storage(data, bytes, shelter);
  const Tensor tensor(std::move(value));
  if (!(shared->flags & kDlpackReadOnly)) {
    shelter->own();
    return tensor;
  }
  const Tensor copy = Tensor::empty(tensor.meta(), "dlpack");
  if (bytes > 0) copy_strided(view_of(tensor.value()), view_of(copy.value()));
  shelter->own();  // and lets go of it now, as nothing else holds it
  return copy;
}

}  // namespace plimsoll::formats
