#include "formats/tensor_bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/cpu/copy.h"
#include "core/cuda/seam/cuda.h"
#include "core/engine/trace.h"

namespace plimsoll::formats {

void require_bytes(const char* format, const Tensor& tensor) {
  check<StateError>(tensor.defined(), format,
                    ": the tensor is undefined. Pass one that was computed.");
  check<StateError>(!Trace::current() && !tensor.value().storage->is_symbolic(), format,
                    ": the values are not known while a step is being captured: ", tensor.meta(),
                    ". Write them between the steps.");
  check<DeviceError>(tensor.device() != Device::null, format,
                     ": the null device has no bytes: ", tensor.meta(),
                     ". Compute on the cpu device to have values.");
}

std::span<const std::byte> bytes_of(const char* format, const Tensor& tensor,
                                    std::vector<std::byte>& space) {
  require_bytes(format, tensor);
  const auto size = static_cast<size_t>(bytes_of(tensor.meta()));
  if (size == 0) return {};
  std::vector<std::byte> copied;
  View view = on_host(view_of(tensor.value()), copied);
  if (!view.contiguous()) {
    space.resize(size);
    const View row{space.data(), view.meta, row_major(view.shape())};
    copy_strided(view, row);
    view = row;
  } else if (!copied.empty()) {
    space = std::move(copied);  // the view goes on looking into it
  }
  return {view.as<const std::byte>(), size};
}

void fill(const char* format, const std::string& what, const Tensor& tensor,
          std::span<const std::byte> bytes) {
  if (tensor.dtype() == DType::boolean)
    check<DataError>(std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; }),
                     format, ": a bool is neither 0 nor 1: in ", what, ". Write it again.");
  visit_any(tensor.dtype(), [&]<class T>() {
    // Only its address is used, so it need not be on a boundary of T.
    const T* const values = static_cast<const T*>(static_cast<const void*>(bytes.data()));
    tensor.write(std::span<const T>(values, bytes.size() / sizeof(T)));
  });
}

void write_file(const char* format, const std::filesystem::path& path,
                const std::function<void(const Sink&)>& write) {
  std::ofstream file;
  const auto require_written = [&] {
    check<DataError>(file.good(), format, ": writing failed: ", path.string(), " (",
                     std::strerror(errno), "). Look at the space on the disk.");
  };
  write([&](std::span<const std::byte> bytes) {
    if (!file.is_open()) {
      file.open(path, std::ios::binary | std::ios::trunc);
      check<DataError>(file.is_open(), format, ": the file cannot be written: ", path.string(),
                       " (", std::strerror(errno),
                       "). Name a file in a folder that exists and is yours.");
    }
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    require_written();
  });
  file.close();
  require_written();
}

}  // namespace plimsoll::formats
