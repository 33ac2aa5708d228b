#include "ops/indexing/common/ids.h"
#include "ops/indexing/common/select_cuda.h"

namespace plimsoll {
namespace {

void throw_embedding(int64_t at, int64_t id, int64_t rows) { fail_id("embedding", at, id, rows); }

}  // namespace

void embedding_cuda(const Call& call) {
  cuda::select_rows(call.in[0], call.in[1], 0, &throw_embedding, call.out[0]);
}

// Of embedding_grad_add too, which has a third input.
void embedding_grad_cuda(const Call& call) {
  cuda::add_rows(call.in[0], call.in[1], 0, &throw_embedding, call.workspace, call.out[0],
                 call.in.size() > 2 ? &call.in[2] : nullptr);
}

}  // namespace plimsoll
