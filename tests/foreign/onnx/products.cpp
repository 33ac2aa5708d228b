// Matrix products, and sums of products over named axes.
#include <algorithm>
#include <numeric>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

std::vector<Tensor> gemm(const OpCall& c) {
  const double alpha = c.node.real("alpha", 1), beta = c.node.real("beta", 1);
  const Tensor a = c.node.flag("transA") ? transpose(c[0]) : c[0];
  const Tensor b = c.node.flag("transB") ? transpose(c[1]) : c[1];
  c.node.integer("broadcast", 1);  // version 6: the shapes say it
  Tensor y = matmul(a, b);
  if (alpha != 1) y = y * alpha;
  if (c.has(2)) y = y + (beta == 1 ? c[2] : c[2] * beta);
  return {y};
}

std::vector<Tensor> products(const OpCall& c) { return {numpy_matmul(c[0], c[1])}; }

// ---- Einsum: every operand is brought to the axes of all labels, the product is summed.

struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

// "ab...,bc->ac". An ellipsis becomes the labels '0', '1', ..., aligned right. Without an arrow the
// result has the ellipsis, then all labels that occur once.
Equation parse(std::string text, const std::vector<Tensor>& operands) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation e;
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    e.terms.push_back(left.substr(at, comma - at));
    at = comma + 1;
  }
  check<ValueError>(e.terms.size() == operands.size(), "Einsum: ", e.terms.size(), " terms for ",
                    operands.size(), " operands. Pass one each.");
  std::string dots;
  const auto resolve = [&](std::string& term, size_t axes) {
    if (const size_t at = term.find("..."); at != std::string::npos)
      term.replace(at, 3, dots.substr(dots.size() - axes));
  };
  size_t most = 0;
  std::vector<size_t> axes;
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const bool has_dots = e.terms[i].find("...") != std::string::npos;
    const auto rank = static_cast<size_t>(operands[i].rank());
    axes.push_back(has_dots ? rank - (e.terms[i].size() - 3) : 0);
    most = std::max(most, axes.back());
  }
  for (size_t i = 0; i < most; ++i) dots += static_cast<char>('0' + i);
  for (size_t i = 0; i < e.terms.size(); ++i) resolve(e.terms[i], axes[i]);
  if (arrow != std::string::npos) {
    e.result = text.substr(arrow + 2);
    resolve(e.result, most);
    return e;
  }
  const std::string all = std::accumulate(e.terms.begin(), e.terms.end(), std::string());
  e.result = dots;
  for (char label = 'A'; label <= 'z'; ++label)
    if (std::count(all.begin(), all.end(), label) == 1) e.result += label;
  return e;
}

// A label that stands twice in a term means the diagonal of its two axes.
void take_diagonals(Tensor& x, std::string& term) {
  for (size_t i = 0; i < term.size(); ++i)
    if (const size_t j = term.find(term[i], i + 1); j != std::string::npos) {
      Shape order, merged;
      for (size_t k = 0; k < term.size(); ++k)
        if (k != i && k != j) order.push_back(static_cast<int64_t>(k));
      for (const int64_t axis : order) merged.push_back(x.size(static_cast<int>(axis)));
      const int64_t n = x.size(static_cast<int>(i));
      order.push_back(static_cast<int64_t>(i));
      order.push_back(static_cast<int64_t>(j));
      merged.push_back(n * n);
      x = slice(reshape(permute(x, order), merged), -1, 0, n * n, n + 1);
      const char label = term[i];
      std::erase(term, label);
      term += label;
      i = -1;  // from the start
    }
}

// Axes in the order of `labels`, with size 1 for those that the term does not have.
Tensor aligned(const Tensor& x, const std::string& term, const std::string& labels) {
  Shape order, shape;
  for (const char label : labels) {
    const size_t at = term.find(label);
    if (at != std::string::npos) order.push_back(static_cast<int64_t>(at));
    shape.push_back(at == std::string::npos ? 1 : x.size(static_cast<int>(at)));
  }
  return reshape(permute(x, order), shape);
}

}  // namespace

Tensor numpy_matmul(const Tensor& a, const Tensor& b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const DType dtype = is_floating(a.dtype()) ? a.dtype() : DType::f64;
  const Tensor left = cast(row ? reshape(a, {1, -1}) : a, dtype);
  const Tensor right = cast(column ? reshape(b, {-1, 1}) : b, dtype);
  const Tensor y = cast(matmul(left, right), a.dtype());
  Shape shape;
  for (int i = 0; i < y.rank(); ++i)
    if (!(row && i == y.rank() - 2) && !(column && i == y.rank() - 1)) shape.push_back(y.size(i));
  return reshape(y, shape);
}

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  Equation e = parse(equation, operands);
  std::string labels = e.result;
  for (const std::string& term : e.terms)
    for (const char label : term)
      if (labels.find(label) == std::string::npos) labels += label;
  Tensor product;
  for (size_t i = 0; i < e.terms.size(); ++i) {
    Tensor x = operands[i];
    take_diagonals(x, e.terms[i]);
    x = aligned(x, e.terms[i], labels);
    product = product.defined() ? product * x : x;
  }
  Shape summed;
  for (size_t i = e.result.size(); i < labels.size(); ++i)
    summed.push_back(static_cast<int64_t>(i));
  return in_floating(product, [&](const Tensor& p) { return sum(p, summed); });
}

Ops product_ops() {
  const auto named = [](const OpCall& c) {
    return std::vector{einsum(c.node.text("equation", ""), c.in)};
  };
  return {{"Gemm", gemm}, {"MatMul", products}, {"Einsum", named}};
}

}  // namespace plimsoll::onnx
