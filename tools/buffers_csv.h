// Buffers in the CSV form of MiniMalloc, and the same with offsets.
//
//   const Buffers buffers = read_buffers("model.csv");           // id,lower,upper,size
//   const std::string text = offsets_csv(buffers, offsets);      // id,lower,upper,size,offset
//
// The first line names the columns, in any order. A buffer is alive from `lower` to just before
// `upper`. Ids are any text without commas, each only once. Numbers are whole: sizes from 0, times
// may be negative. Blanks around a value, CRLF, empty lines and a byte-order mark are no matter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "memory/layout/offsets.h"

namespace plimsoll::tools {

struct Buffers {
  std::vector<std::string> ids;
  std::vector<int64_t> lower, upper, size;

  size_t count() const { return ids.size(); }
};

// DataError: `PATH: line N: what is wrong, what was expected`.
Buffers read_buffers(const std::filesystem::path& path);

// Boxes for all buffers that have bytes, and of which buffer each box is. Times are counted in
// distinct times.
struct BufferBoxes {
  std::vector<Box> boxes;
  std::vector<size_t> buffer;
};
BufferBoxes boxes_of(const Buffers& buffers);

std::string offsets_csv(const Buffers& buffers, const std::vector<int64_t>& offsets);

}  // namespace plimsoll::tools
