// The calls of attention that cuDNN does.
#include "core/cuda/launch.cuh"
#include "ops/attention/attention/on_cuda.h"

namespace plimsoll::attention_detail {
namespace {

using namespace cuda;

// cuDNN keeps only log_sum_exp of each row; without options {0, log_sum_exp} says the same.
__global__ void softmaxes_kernel(const float* log_sum_exp, int64_t n, Softmax<float>* softmaxes) {
  for (int64_t i = first_index(); i < n; i += total_threads()) softmaxes[i] = {0, log_sum_exp[i]};
}
__global__ void log_sum_exps_kernel(const Softmax<float>* softmaxes, float scale, int64_t n,
                                    float* log_sum_exp) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    log_sum_exp[i] = softmaxes[i].highest * scale + softmaxes[i].log_total;
}

// What cuDNN is asked; nothing: it does not do this call.
std::optional<Attention> asked(const Call& call, const Sizes& s, const Extras& extras,
                               bool gradient) {
  if (!attend_by_library) return std::nullopt;
  return library_attention(s, call.out[0].dtype(),
                           extras.mask || extras.segments || extras.past || extras.dlog_sum_exp,
                           gradient, call.in);
}

}  // namespace

bool forward_by_library(const Call& call, const Sizes& s, const Extras& extras) {
  const auto a = asked(call, s, extras, false);
  float* const log_sum_exp = call.out[1].as<float>();
  void* const tensors[] = {call.in[0].data, call.in[1].data, call.in[2].data, call.out[0].data,
                           log_sum_exp};
  if (!a || !attend_by_library(*a, static_cast<float>(s.attrs.scale), tensors, call.workspace))
    return false;
  const int64_t n = count(call.out[1].shape());
  launch(softmaxes_kernel, blocks_for(n), kThreads, log_sum_exp, n,
         reinterpret_cast<Softmax<float>*>(call.out[2].as<float>()));
  return true;
}

bool backward_by_library(const Call& call, const Sizes& s, const Extras& extras) {
  const auto a = asked(call, s, extras, true);
  const auto column = static_cast<size_t>(column_bytes(s, DType::f32));
  if (!a || call.workspace.size() < 2 * column) return false;  // there is no plan
  auto* const log_sum_exp = reinterpret_cast<float*>(call.workspace.data());
  const int64_t n = s.batch * s.heads * s.queries;
  const auto scale = static_cast<float>(s.attrs.scale);
  launch(log_sum_exps_kernel, blocks_for(n), kThreads,
         reinterpret_cast<const Softmax<float>*>(call.in[4].as<float>()), scale, n, log_sum_exp);
  void* const tensors[] = {call.in[0].data,  call.in[1].data,
                           call.in[2].data,  call.in[3].data,
                           call.in[5].data,  log_sum_exp,
                           call.out[0].data, call.out[1].data,
                           call.out[2].data, call.workspace.data() + column};
  return attend_by_library(*a, scale, tensors, call.workspace.subspan(2 * column));
}

}  // namespace plimsoll::attention_detail
