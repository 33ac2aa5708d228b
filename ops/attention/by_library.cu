// The calls of attention that cuDNN does.
#include <algorithm>

#include "core/cuda/launch.cuh"
#include "core/cuda/ways.h"
#include "ops/attention/on_cuda.h"

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
  return library_attention(s, call.out[0].dtype(), extras.mask || extras.dlog_sum_exp, gradient,
                           call.in);
}

// What queues cuDNN's; empty where it does not do this call.
std::function<void()> forward_by_library(const Attention& a, const Call& call, const Sizes& s) {
  float* const log_sum_exp = call.out[1].as<float>();
  void* const tensors[] = {call.in[0].data, call.in[1].data, call.in[2].data, call.out[0].data,
                           log_sum_exp};
  auto library = attend_by_library(a, static_cast<float>(s.attrs.scale), tensors, call.workspace);
  if (!library) return {};
  return [=, &call] {
    library();
    const int64_t n = count(call.out[1].shape());
    launch(softmaxes_kernel, blocks_for(n), kThreads, log_sum_exp, n,
           reinterpret_cast<Softmax<float>*>(call.out[2].as<float>()));
  };
}

std::function<void()> backward_by_library(const Attention& a, const Call& call, const Sizes& s) {
  const auto column = static_cast<size_t>(column_bytes(s, DType::f32));
  if (call.workspace.size() < 2 * column) return {};
  auto* const log_sum_exp = reinterpret_cast<float*>(call.workspace.data());
  void* const tensors[] = {call.in[0].data,  call.in[1].data,
                           call.in[2].data,  call.in[3].data,
                           call.in[5].data,  log_sum_exp,
                           call.out[0].data, call.out[1].data,
                           call.out[2].data, call.workspace.data() + column};
  const auto scale = static_cast<float>(s.attrs.scale);
  auto library = attend_by_library(a, scale, tensors, call.workspace.subspan(2 * column));
  if (!library) return {};
  return [=, &call, n = s.batch * s.heads * s.queries] {
    launch(log_sum_exps_kernel, blocks_for(n), kThreads,
           reinterpret_cast<const Softmax<float>*>(call.in[4].as<float>()), scale, n, log_sum_exp);
    library();
  };
}

void run(const char* op, const Call& call, const Attention& a, const std::function<void()>& library,
         const std::function<void()>& own) {
  if (!library) return own();
  const bool dense = std::ranges::all_of(std::array{a.q, a.k, a.v},
                                         [&](const auto& strides) { return strides == a.dense(); });
  const Way ways[] = {[&] { return library(), true; }, [&] { return own(), true; }};
  run_one_of({op, a.batch * a.heads, a.length, a.features, a.dtype,
              static_cast<int>(call.in.size()), static_cast<int>(call.out.size()), dense},
             plan_library, ways);
}

}  // namespace

void run_forward(const Call& call, const Sizes& s, const Extras& extras,
                 const std::function<void()>& own) {
  const auto a = asked(call, s, extras, false);
  if (!a) return own();
  run("attention", call, *a, forward_by_library(*a, call, s), own);
}

void run_backward(const Call& call, const Sizes& s, const Extras& extras,
                  const std::function<void()>& own) {
  const auto a = asked(call, s, extras, true);
  if (!a) return own();
  run("attention_gradient", call, *a, backward_by_library(*a, call, s), own);
}

}  // namespace plimsoll::attention_detail
