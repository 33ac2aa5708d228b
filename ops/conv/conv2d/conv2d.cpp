#include "ops/conv/conv2d/conv2d.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/smaller_first.h"
#include "ops/conv/conv2d/dense.h"
#include "ops/conv/conv2d/depthwise.h"
#include "ops/conv/conv2d/on_cuda.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(conv2d_cuda);
PLIMSOLL_CUDA_KERNEL(conv2d_input_grad_cuda);
PLIMSOLL_CUDA_KERNEL(conv2d_weight_grad_cuda);

namespace {

using cuda::Convolution;

// The sizes of y = conv2d(x, w, attrs), or the error that says why there is no such y.
ConvSizes conv_sizes(const char* op, const Shape& x, const Shape& w, const Conv2dAttrs& a) {
  check<ValueError>(
      at_least(a.stride, 1) && at_least(a.padding, 0) && at_least(a.dilation, 1) && a.groups >= 1,
      op, ": stride ", a.stride, ", padding ", a.padding, ", dilation ", a.dilation, " and groups ",
      a.groups, " make no convolution. All start at 1, padding at 0.");
  check<ShapeError>(w[0] % a.groups == 0 && x[3] == checked_mul(w[3], a.groups, op), op,
                    ": an image ", x, " and filters ", w, " do not fit ", a.groups,
                    " group(s). w is [O, KH, KW, C / groups], and groups must divide O.");
  const int64_t height = checked_add(checked_add(x[1], a.padding.top, op), a.padding.bottom, op);
  const int64_t width = checked_add(checked_add(x[2], a.padding.left, op), a.padding.right, op);
  // The pixels from the first tap to the last.
  const int64_t rows = checked_add(checked_mul(w[1] - 1, a.dilation.h, op), 1, op);
  const int64_t columns = checked_add(checked_mul(w[2] - 1, a.dilation.w, op), 1, op);
  check<ShapeError>(w[1] >= 1 && w[2] >= 1 && rows <= height && columns <= width, op,
                    ": a filter of ", Pair(w[1], w[2]), " and dilation ", a.dilation,
                    " does not fit an image of ", Pair(x[1], x[2]), " with padding ", a.padding,
                    ". Pad more or use a smaller filter.");
  return {.n = x[0],
          .h = x[1],
          .w = x[2],
          .c = x[3],
          .o = w[0],
          .kh = w[1],
          .kw = w[2],
          .p = (height - rows) / a.stride.h + 1,
          .q = (width - columns) / a.stride.w + 1,
          .stride = a.stride,
          .padding = a.padding.before(),
          .dilation = a.dilation,
          .groups = a.groups};
}

void check_operands(const char* op, std::span<const Meta> in) {
  check<DTypeError>(in[0].dtype == in[1].dtype && is_floating(in[0].dtype), op,
                    ": two tensors of one floating type are needed: got ", in[0].dtype, " and ",
                    in[1].dtype, ". Cast one of them.");
  check<ShapeError>(in[0].shape.rank() == 4 && in[1].shape.rank() == 4, op,
                    ": images [N, H, W, C] and filters [O, KH, KW, C / groups] are needed: got ",
                    in[0].shape, " and ", in[1].shape, ". Reshape to 4 axes.");
}

void check_windows(const char* op, const ConvSizes& s, const Shape& dy) {
  const Shape y{s.n, s.p, s.q, s.o};
  check<ShapeError>(dy == y, op, ": dy is ", dy, " but conv2d would make ", y,
                    ". Pass the sizes and attributes of the forward convolution.");
}

}  // namespace

ConvSizes conv2d_sizes(std::span<const Meta> in, const Attrs& attrs) {
  check_operands("conv2d", in);
  return conv_sizes("conv2d", in[0].shape, in[1].shape, attrs.as<Conv2dAttrs>());
}

ConvSizes conv2d_input_grad_sizes(std::span<const Meta> in, const Attrs& attrs) {
  const char* op = "conv2d_input_grad";
  check_operands(op, in);
  const auto& a = attrs.as<ConvGradAttrs>();
  const Shape &dy = in[0].shape, &w = in[1].shape;
  const Shape x{dy[0], a.size.h, a.size.w, checked_mul(w[3], a.conv.groups, op)};
  count(x);  // refuses negative sizes
  const ConvSizes s = conv_sizes(op, x, w, a.conv);
  check_windows(op, s, dy);
  return s;
}

ConvSizes conv2d_weight_grad_sizes(std::span<const Meta> in, const Attrs& attrs) {
  const char* op = "conv2d_weight_grad";
  check_operands(op, in);
  const auto& a = attrs.as<ConvGradAttrs>();
  const Shape &x = in[0].shape, &dy = in[1].shape;
  const Shape w{dy[3], a.size.h, a.size.w, x[3] / std::max<int64_t>(a.conv.groups, 1)};
  count(w);
  const ConvSizes s = conv_sizes(op, x, w, a.conv);
  check_windows(op, s, dy);
  return s;
}

namespace {

Metas conv2d_infer(std::span<const Meta> in, const Attrs& attrs) {
  const ConvSizes s = conv2d_sizes(in, attrs);
  check<DTypeError>(in.back().dtype == in[0].dtype, "conv2d: the bias is ", in.back().dtype,
                    " and the image ", in[0].dtype, ". Cast one of them.");
  check<ShapeError>(in.size() == 2 || in[2].shape == Shape{s.o},
                    "conv2d: the bias does not fit: ", in.back().shape, " for filters ",
                    in[1].shape, ". Give it the shape [", s.o, "].");
  return {{{s.n, s.p, s.q, s.o}, in[0].dtype, in[0].device}};
}

Metas input_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  const ConvSizes s = conv2d_input_grad_sizes(in, attrs);
  return {{{s.n, s.h, s.w, s.c}, in[0].dtype, in[0].device}};
}

Metas weight_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  const ConvSizes s = conv2d_weight_grad_sizes(in, attrs);
  return {{{s.o, s.kh, s.kw, s.group_inputs()}, in[0].dtype, in[0].device}};
}

int64_t conv2d_workspace(const Call& call) {
  const ConvSizes s = conv2d_sizes(metas_of(call.in), call.attrs);
  if (call.in[0].device() == Device::cuda)
    return conv2d_cuda_bytes(library_convolution(s, Convolution::Kind::forward, call.in[0].dtype(),
                                                 call.in.size() == 3));
  return s.depthwise() ? depthwise_workspace(s, forward_window(s), call.in[0].dtype())
                       : dense_workspace(dense_forward(s), call.in[0].dtype());
}

void conv2d_cpu(const Call& call) {
  const ConvSizes s = conv2d_sizes(metas_of(call.in), call.attrs);
  const View bias = call.in.size() == 3 ? call.in[2] : View();
  if (s.depthwise())
    depthwise_forward_cpu(s, call.in[0], call.in[1], bias, call.out[0], call.workspace);
  else
    dense_cpu(dense_forward(s), call.in[0], call.in[1], bias, call.out[0], call.workspace);
}

// The parts of dx; a remainder beyond the image has no pixels.
template <class F>
void for_each_part(const ConvSizes& s, F&& f) {
  for (int64_t a = 0; a < std::min(s.stride.h, s.h); ++a)
    for (int64_t b = 0; b < std::min(s.stride.w, s.w); ++b) f(Pair(a, b));
}

int64_t input_grad_workspace(const Call& call) {
  const ConvSizes s = conv2d_input_grad_sizes(metas_of(call.in), call.attrs);
  if (call.in[0].device() == Device::cuda)
    return conv2d_cuda_bytes(
        library_convolution(s, Convolution::Kind::input_grad, call.in[0].dtype()));
  int64_t most = 0;
  for_each_part(s, [&](Pair part) {
    const int64_t bytes =
        s.depthwise() ? depthwise_workspace(s, input_grad_window(s, part), call.in[0].dtype())
                      : dense_workspace(dense_input_grad(s, part), call.in[0].dtype());
    most = std::max(most, bytes);
  });
  return most;
}

void input_grad_cpu(const Call& call) {
  const ConvSizes s = conv2d_input_grad_sizes(metas_of(call.in), call.attrs);
  for_each_part(s, [&](Pair part) {
    if (s.depthwise())
      depthwise_input_grad_cpu(s, part, call.in[0], call.in[1], call.out[0], call.workspace);
    else
      dense_cpu(dense_input_grad(s, part), call.in[0], call.in[1], View(), call.out[0],
                call.workspace);
  });
}

int64_t weight_grad_workspace(const Call& call) {
  const ConvSizes s = conv2d_weight_grad_sizes(metas_of(call.in), call.attrs);
  if (call.in[0].device() == Device::cuda)
    return conv2d_cuda_bytes(
        library_convolution(s, Convolution::Kind::weight_grad, call.in[0].dtype()));
  return s.depthwise() ? depthwise_weight_grad_workspace(s, call.in[0].dtype())
                       : dense_weight_grad_workspace(s, call.in[0].dtype());
}

void weight_grad_cpu(const Call& call) {
  const ConvSizes s = conv2d_weight_grad_sizes(metas_of(call.in), call.attrs);
  const auto kernel = s.depthwise() ? depthwise_weight_grad_cpu : dense_weight_grad_cpu;
  kernel(s, call.in[0], call.in[1], call.out[0], call.workspace);
}

// A convolution is linear in each operand, so the gradients of all three are among the three.
Pair size_of(const Meta& meta) { return {meta.shape[1], meta.shape[2]}; }

std::vector<Tensor> conv2d_vjp(const Backward& b) {  // y = conv2d(x, w) or conv2d(x, w, bias)
  const auto& a = b.attrs<Conv2dAttrs>();
  Tensor dx, dw;
  const Pair image = size_of(b.input_meta(0)), kernel = size_of(b.input_meta(1));
  const auto make_dx = [&] { dx = conv2d_input_grad(b.grad(), b.input(1), image, a); };
  const auto make_dw = [&] { dw = conv2d_weight_grad(b.input(0), b.grad(), kernel, a); };
  smaller_first(b, make_dx, make_dw);
  if (b.inputs() == 2) return {dx, dw};
  return {dx, dw, b.needs(2) ? sum(b.grad(), {0, 1, 2}) : Tensor()};
}

std::vector<Tensor> input_grad_vjp(const Backward& b) {  // dx = conv2d_input_grad(dy, w)
  const auto& a = b.attrs<ConvGradAttrs>();
  Tensor ddy, dw;
  if (b.needs(0)) ddy = conv2d(b.grad(), b.input(1), a.conv);
  if (b.needs(1)) dw = conv2d_weight_grad(b.grad(), b.input(0), size_of(b.input_meta(1)), a.conv);
  return {ddy, dw};
}

std::vector<Tensor> weight_grad_vjp(const Backward& b) {  // dw = conv2d_weight_grad(x, dy)
  const auto& a = b.attrs<ConvGradAttrs>();
  Tensor dx, ddy;
  if (b.needs(0)) dx = conv2d_input_grad(b.input(1), b.grad(), size_of(b.input_meta(0)), a.conv);
  if (b.needs(1)) ddy = conv2d(b.input(0), b.grad(), a.conv);
  return {dx, ddy};
}

// All three do the same products, in another order.
template <ConvSizes (*kSizes)(std::span<const Meta>, const Attrs&)>
double conv2d_flops(std::span<const Meta> in, std::span<const Meta>, const Attrs& attrs) {
  const ConvSizes s = kSizes(in, attrs);
  return 2.0 * static_cast<double>(s.n * s.p * s.q) * static_cast<double>(s.o * s.taps()) *
         static_cast<double>(s.group_inputs());
}

constexpr OpDef conv2d_op{.name = "conv2d",
                          .infer = conv2d_infer,
                          .cpu = conv2d_cpu,
                          .cuda = conv2d_cuda,
                          .vjp = {.rule = conv2d_vjp, .inputs = bits(0, 1)},
                          .workspace = conv2d_workspace,
                          .cast = CastRule::low,
                          .flops = conv2d_flops<conv2d_sizes>};
constexpr OpDef input_grad_op{.name = "conv2d_input_grad",
                              .infer = input_grad_infer,
                              .cpu = input_grad_cpu,
                              .cuda = conv2d_input_grad_cuda,
                              .vjp = {.rule = input_grad_vjp, .inputs = bits(0, 1)},
                              .workspace = input_grad_workspace,
                              .cast = CastRule::low,
                              .flops = conv2d_flops<conv2d_input_grad_sizes>};
constexpr OpDef weight_grad_op{.name = "conv2d_weight_grad",
                               .infer = weight_grad_infer,
                               .cpu = weight_grad_cpu,
                               .cuda = conv2d_weight_grad_cuda,
                               .vjp = {.rule = weight_grad_vjp, .inputs = bits(0, 1)},
                               .workspace = weight_grad_workspace,
                               .flops = conv2d_flops<conv2d_weight_grad_sizes>};

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dAttrs& attrs) {
  return apply1(conv2d_op, {contiguous(x), contiguous(w)}, attrs);
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dAttrs& attrs) {
  if (!bias.defined()) return conv2d(x, w, attrs);
  return apply1(conv2d_op, {contiguous(x), contiguous(w), contiguous(bias)}, attrs);
}

Tensor conv2d_input_grad(const Tensor& dy, const Tensor& w, Pair image, const Conv2dAttrs& attrs) {
  return apply1(input_grad_op, {contiguous(dy), contiguous(w)}, ConvGradAttrs{attrs, image});
}

Tensor conv2d_weight_grad(const Tensor& x, const Tensor& dy, Pair filter,
                          const Conv2dAttrs& attrs) {
  return apply1(weight_grad_op, {contiguous(x), contiguous(dy)}, ConvGradAttrs{attrs, filter});
}

extern const std::vector<const OpDef*> conv2d_ops{&conv2d_op, &input_grad_op, &weight_grad_op};

}  // namespace plimsoll
