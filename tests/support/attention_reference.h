// Attention by its definition, score by score in double: what the cases are compared with.
#pragma once

#include "core/base/philox.h"
#include "ops/attention/attention/attention.h"
#include "tests/support/broadcast_reference.h"

namespace plimsoll::attention_reference {

struct Given {
  Array q, k, v;
  Array mask = Array({1, 1, 1, 1});  // added; -infinity hides
  std::vector<double> key = {0, 0};  // of the dropout
};

// 0 or 1 / (1 - p) for a score, rows of keys being padded to a multiple of four.
inline double drawn(const Given& in, const AttentionAttrs& attrs, int64_t row, int64_t j) {
  const int64_t padded = (in.k.size(1) + 3) / 4 * 4, place = row * padded + j;
  const auto mixed =
      random_words(static_cast<uint64_t>(in.key[0]), /*"drop"*/ 0x64726f70, attrs.site);
  const auto words =
      random_words((uint64_t{mixed[0]} << 32) + mixed[1], static_cast<uint64_t>(in.key[1]),
                   static_cast<uint64_t>(place) / 4);
  const double u = static_cast<double>(unit_float(words[static_cast<size_t>(place % 4)]));
  return u >= attrs.dropout ? 1 / (1 - attrs.dropout) : 0;
}

// The finished scores of one query.
inline std::vector<double> scores(const Given& in, const AttentionAttrs& attrs, int64_t b,
                                  int64_t h, int64_t i) {
  const int64_t T = in.q.size(1), H = in.q.size(2), D = in.q.size(3), S = in.k.size(1);
  const int64_t K = in.k.size(2), shared = h * K / H;
  const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(D));
  std::vector<double> result;
  for (int64_t j = 0; j < S; ++j) {
    double s = 0;
    for (int64_t d = 0; d < D; ++d)
      s += scale * in.q[((b * T + i) * H + h) * D + d] * in.k[((b * S + j) * K + shared) * D + d];
    if (attrs.softcap > 0) s = attrs.softcap * std::tanh(s / attrs.softcap);
    const Shape all{in.q.size(0), H, T, S};
    s += broadcast_at(in.mask, all, ((b * H + h) * T + i) * S + j);
    const bool left = attrs.window > 0 && j <= i + attrs.past - attrs.window;
    result.push_back(left || (attrs.causal && j > i + attrs.past) ? -kInf : s);
  }
  return result;
}

// out [B, T, H, E] and log_sum_exp [B, H, T].
inline std::vector<Array> attend(const Given& in, const AttentionAttrs& attrs) {
  const int64_t B = in.q.size(0), T = in.q.size(1), H = in.q.size(2), S = in.k.size(1);
  const int64_t E = in.v.size(3), K = in.k.size(2);
  Array out({B, T, H, E}), log_sum_exp({B, H, T});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < T; ++i) {
        const std::vector<double> score = scores(in, attrs, b, h, i);
        const int64_t row = (b * H + h) * T + i;
        double highest = -kInf, total = 0;
        for (const double s : score) highest = std::max(highest, s);
        log_sum_exp[row] = highest;
        if (highest == -kInf) continue;  // all is hidden: 0
        for (const double s : score) total += std::exp(s - highest);
        log_sum_exp[row] += std::log(total);
        for (int64_t j = 0; j < S; ++j) {
          const double p = std::exp(score[static_cast<size_t>(j)] - highest) / total;
          const double factor = attrs.dropout > 0 ? drawn(in, attrs, row, j) : 1;
          for (int64_t e = 0; e < E; ++e)
            out[((b * T + i) * H + h) * E + e] +=
                p * factor * in.v[((b * S + j) * K + h * K / H) * E + e];
        }
      }
  return {out, log_sum_exp};
}

}  // namespace plimsoll::attention_reference
