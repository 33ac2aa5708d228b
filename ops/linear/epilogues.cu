#include "core/cuda/epilogue.h"
#include "core/cuda/runtime.h"
#include "core/cuda/ways.h"
#include "ops/formula_op.h"
#include "ops/gelu/formulas.h"
#include "ops/reduce_axes.cuh"

namespace plimsoll {

void sum_cuda(const Call& call);  // ops/sum

namespace {

using cuda::Epilogue, cuda::Product, cuda::Way;

// Where no way is timed: cuBLASLt's epilogues of gelu are reported to be faster than a kernel more
// on Hopper (compute capability 9), and slower on GPUs before and after it. Reports on its sums
// differ, so our own kernels make them.
bool gelu_epilogues_are_fast() { return cuda::architecture() / 10 == 9; }

void gelu(const View& h, const View& y) {
  if (count(y.shape()) > 0) unary_cuda<formulas::GeluTanh>({{&h, 1}, {&y, 1}, {}, {}});
}

// Over dh.
void gelu_grad(const View& dh, const View& h) {
  const std::array in{dh, h};
  if (count(dh.shape()) > 0) unary_grad_cuda<formulas::GeluTanh>({in, {&dh, 1}, {}, {}});
}

void sum_rows(View x, const View& sums, std::span<std::byte> workspace) {
  const int64_t columns = count(sums.shape());
  if (columns == 0) return;
  static const Attrs over_rows = ReduceAttrs{.first = 0, .last = 1};
  x.meta.shape = {count(x.shape()) / columns, columns};
  x.strides = row_major(x.meta.shape);
  sum_cuda({{&x, 1}, {&sums, 1}, over_rows, workspace});
}

bool with_epilogue(const Product& p, const Epilogue& e, std::span<std::byte> workspace) {
  return cuda::product_with_epilogue && cuda::product_with_epilogue(p, e, workspace);
}

// The ways in this order where epilogues are fast, and the other way round elsewhere.
template <size_t N>
void run(const char* op, const Product& p, const Call& call, bool fast, Way (&&ways)[N]) {
  if (!fast) std::reverse(ways, ways + N);
  cuda::run_one_of({op, p.m, p.n, p.k, p.c.dtype, static_cast<int>(call.in.size()),
                    static_cast<int>(call.out.size())},
                   cuda::product_library, ways);
}

}  // namespace

void linear_gelu_tanh_cuda(const Call& call) {
  const View &x = call.in[0], &w = call.in[1], &y = call.out[0], &h = call.out.back();
  const int64_t outputs = w.shape()[0], inputs = w.shape()[1];
  Product p{.m = count(y.shape()) / outputs,
            .n = outputs,
            .k = inputs,
            .a = {x.data, x.dtype(), inputs, 1},
            .b = {w.data, w.dtype(), 1, inputs},
            .c = {y.data, y.dtype(), outputs, 1},
            .bias = call.in.size() == 3 ? &call.in[2] : nullptr};
  const auto fused = [&] {
    const Epilogue e{Epilogue::Kind::gelu_tanh, call.out.size() == 2 ? &h : nullptr};
    return with_epilogue(p, e, call.workspace);
  };
  const auto apart = [&] {
    Product linear = p;
    linear.c.data = h.data;
    cuda::product(linear, call.workspace);
    gelu(h, y);
    return true;
  };
  run("linear_gelu_tanh", p, call, gelu_epilogues_are_fast(), {fused, apart});
}

void matmul_gelu_tanh_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &w = call.in[1], &h = call.in[2], &dh = call.out[0];
  const int64_t outputs = w.shape()[0], inputs = w.shape()[1];
  const View* const sums = call.out.size() == 2 ? &call.out[1] : nullptr;
  const Product p{.m = dy.shape()[0],
                  .n = inputs,
                  .k = outputs,
                  .a = {dy.data, dy.dtype(), outputs, 1},
                  .b = {w.data, w.dtype(), inputs, 1},
                  .c = {dh.data, dh.dtype(), inputs, 1}};
  const auto sum = [&] {
    if (sums) sum_rows(dh, *sums, call.workspace);
    return true;
  };
  const auto epilogue = [&](const View* summed) {
    return with_epilogue(p, {Epilogue::Kind::gelu_tanh_grad, &h, summed}, call.workspace);
  };
  const auto fused = [&] { return epilogue(nullptr) && sum(); };
  const auto fused_sums = [&] { return epilogue(sums); };
  const auto apart = [&] {
    cuda::product(p, call.workspace);
    gelu_grad(dh, h);
    return sum();
  };
  const bool fast = gelu_epilogues_are_fast();
  if (sums)
    run("matmul_gelu_tanh_grad", p, call, fast, {fused, fused_sums, apart});
  else
    run("matmul_gelu_tanh_grad", p, call, fast, {fused, apart});
}

void linear_weight_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &x = call.in[1], &dw = call.out[0], &db = call.out[1];
  const int64_t rows = dy.shape()[0], outputs = dy.shape()[1], inputs = x.shape()[1];
  const Product p{.m = outputs,
                  .n = inputs,
                  .k = rows,
                  .a = {dy.data, dy.dtype(), 1, outputs},
                  .b = {x.data, x.dtype(), inputs, 1},
                  .c = {dw.data, dw.dtype(), inputs, 1}};
  const auto fused = [&] {
    return with_epilogue(p, {Epilogue::Kind::row_sums, nullptr, &db}, call.workspace);
  };
  const auto apart = [&] {
    cuda::product(p, call.workspace);
    sum_rows(dy, db, call.workspace);
    return true;
  };
  run("linear_weight_grad", p, call, false, {fused, apart});
}

}  // namespace plimsoll
