#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/launch.cuh"
#include "ops/indexing/write_rows/kernels.h"

namespace plimsoll {
namespace {

using namespace cuda;
using write_rows_detail::Sizes;

// A thread takes an element of all rows of a batch in their order, so that the last of equal ids
// stays. Of the elements only the width matters.
template <class Word>
__global__ void write_rows_kernel(Sizes s, const Word* rows, Elements<int64_t> ids, uint64_t* fault,
                                  Word* into) {
  for (int64_t i = first_index(); i < s.batch * s.width; i += total_threads()) {
    const int64_t b = i / s.width, column = i % s.width;
    for (int64_t t = 0; t < s.n; ++t) {
      const int64_t id = ids.get(t);
      if (id < 0 || id >= s.places)
        note_fault(fault, t, id);
      else
        into[(b * s.places + id) * s.width + column] =
            rows[b * s.batch_step + t * s.row_step + column];
    }
  }
}

}  // namespace

// Inputs: into, rows, ids.
void write_rows_cuda(const Call& call) {
  const auto& in = call.in;
  const Sizes s(in[0], in[1]);
  visit_width(size_of(in[0].dtype()), [&]<class Word>() {
    launch(write_rows_kernel<Word>, blocks_for(s.batch * s.width), kThreads, s, in[1].as<Word>(),
           elements<int64_t>(in[2]), fault_word(&write_rows_detail::throw_bad_id, s.places),
           in[0].as<Word>());
  });
}

}  // namespace plimsoll
