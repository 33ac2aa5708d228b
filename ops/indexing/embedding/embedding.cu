#include "ops/indexing/common/select_cuda.h"
#include "ops/indexing/embedding/kernels.h"

namespace plimsoll {

void embedding_cuda(const Call& call) {
  const View& table = call.in[0];
  cuda::select_rows(table, call.in[1], {1, table.shape()[0], table.shape()[1]},
                    &embedding_detail::throw_bad_id, call.out[0]);
}

void embedding_grad_cuda(const Call& call) {
  const View& table = call.out[0];
  cuda::add_rows(call.in[0], call.in[1], {1, table.shape()[0], table.shape()[1]},
                 &embedding_detail::throw_bad_id, call.workspace, table);
}

void embedding_grad_add_cuda(const Call& call) {
  const View& table = call.out[0];
  cuda::add_rows(call.in[0], call.in[1], {1, table.shape()[0], table.shape()[1]},
                 &embedding_detail::throw_bad_id, call.workspace, table, &call.in[2]);
}

}  // namespace plimsoll
