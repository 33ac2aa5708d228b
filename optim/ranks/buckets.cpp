#include "optim/ranks/buckets.h"

#include <algorithm>

#include "ops/common/expect.h"

namespace plimsoll::optim {
namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20, kLeastBytes = int64_t{16} << 10;

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t bytes_of_sum(const Tensor& parameter) {
  return parameter.count() * size_of(compute_dtype(parameter.dtype()));
}

}  // namespace

std::vector<Bucket> buckets_of(std::span<const Tensor> parameters, std::span<const size_t> groups,
                               int64_t ranks) {
  int64_t all = 0;
  for (const Tensor& parameter : parameters) all += bytes_of_sum(parameter);
  int64_t left = all;
  std::vector<Bucket> full, open;
  for (size_t i = parameters.size(); i-- > 0;) {
    const Tensor& parameter = parameters[i];
    const size_t group = groups.empty() ? 0 : groups[i];
    auto bucket = std::ranges::find_if(open, [&](const Bucket& other) {
      return other.group == group && other.dtype == parameter.dtype();
    });
    if (bucket == open.end())
      bucket = open.insert(open.end(), {.dtype = parameter.dtype(), .group = group});
    const int64_t begin = rounded_up(bucket->filled, Bucket::kChunk);
    bucket->parameters.push_back(i);
    bucket->offsets.push_back(begin);
    bucket->filled = begin + parameter.count();
    bucket->count = rounded_up(bucket->filled, Bucket::kChunk * ranks);
    left -= bytes_of_sum(parameter);
    const int64_t part = std::clamp(left / 2, all / 64, all / 16);
    const int64_t enough = std::clamp(part, kLeastBytes, kMostBytes);
    if (bucket->filled * size_of(compute_dtype(bucket->dtype)) < enough) continue;
    full.push_back(std::move(*bucket));
    open.erase(bucket);
  }
  std::ranges::move(open, std::back_inserter(full));
  return full;
}

}  // namespace plimsoll::optim
