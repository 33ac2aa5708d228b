#include "data/text/tokens.h"

#include <cstring>

#include "core/base/error.h"

namespace plimsoll::data {
namespace {

template <TokenId T>
void widen(const std::byte* from, int64_t n, int64_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    T id;  // a mapped file may begin anywhere
    std::memcpy(&id, from + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(id);
  }
}

}  // namespace

Tokens Tokens::part(int64_t begin, int64_t end) const {
  Tokens result = *this;
  result.data_ = data_ + begin * bytes_each_;
  result.size_ = end - begin;
  return result;
}

void Tokens::copy(int64_t begin, int64_t n, int64_t* out) const {
  const std::byte* const from = data_ + begin * bytes_each_;
  if (bytes_each_ == 1)
    widen<uint8_t>(from, n, out);
  else if (bytes_each_ == 2)
    widen<uint16_t>(from, n, out);
  else
    widen<uint32_t>(from, n, out);
  if (!file_) return;
  for (int64_t i = 0; i < n; ++i)
    check<DataError>(out[i] < vocabulary_, "tokens: an id is not in the vocabulary: ", *file_,
                     " has ", out[i], " at position ", (from - first_) / bytes_each_ + i,
                     " where ids are below ", vocabulary_, ". Write it again.");
}

}  // namespace plimsoll::data
