// Buckets: how the parameters of a model lie one after another where ranks share them, in a few
// flat buffers. They are exchanged bucket by bucket, and of each rank r of N owns part r: one Nth,
// in one piece.
//
//   bucket 0   | head.weight          | head.bias | padding |     the last layers come first, as
//   bucket 1   | conv2.weight   | conv1.weight    | padding |     their gradients are there first
//               rank 0    rank 1    rank 2    rank 3
//
//   for (const Bucket& bucket : buckets_of(parameters, {}, /*ranks=*/4))
//     zeros({bucket.count})            // of which each of them owns bucket.count / 4
#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::optim {

struct Bucket {
  // Elements: parameters begin, and parts of ranks begin and end, at multiples of it. So what is
  // added up by the chunk has the same bits for any number of ranks.
  static constexpr int64_t kChunk = 64;

  std::vector<size_t> parameters{};  // their numbers, in the order in which gradients are there
  std::vector<int64_t> offsets{};    // where each of them begins, in elements
  int64_t filled = 0;                // elements that have parameters or lie between them
  int64_t count = 0;                 // all elements: `filled`, and padding up to equal parts
  DType dtype = DType::f32;          // of its parameters
  size_t group = 0;                  // of its parameters
};

// A bucket has parameters of one type and one group (of the optimizer; `groups` has one number for
// each parameter, or none where there is one group), and some 4 MiB, or a sixteenth of all where
// that is less: many enough that one is exchanged while the next is computed, and few enough that
// each is worth a message. Towards the end, where ever less is left to compute meanwhile, it is
// half of what comes behind it, at least a 64th of all. All but `count` is the same for any
// number of ranks.
std::vector<Bucket> buckets_of(std::span<const Tensor> parameters, std::span<const size_t> groups,
                               int64_t ranks);

}  // namespace plimsoll::optim
