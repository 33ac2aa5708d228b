// One step of Adam or AdamW on one parameter, in place, with the moments in 8 bits: a quarter of
// their bytes in f32, and 2 scales for each 256 elements.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   adam8_update(w, dw, {m, m_scales}, {v, v_scales}, step, lr, {.weight_decay = 0.01});
#pragma once

#include "ops/common/coded_slot.h"
#include "ops/update/adam_update/adam_update.h"

namespace plimsoll {

// The formulas of adam_update() (ops/update/adam_update), on moments that are decoded before and
// coded after; the parameter moves by the moments as they are before they are coded. A second
// moment that is not 0 is not coded as 0. Errors: those of adam_update(), and DTypeError or
// ShapeError for codes and scales that are not those of a parameter (ops/common/coded_slot.h).
// Source: Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit Optimizers via Block-wise
// Quantization", 2022.
void adam8_update(const Tensor& param, const Tensor& grad, const CodedSlot& m, const CodedSlot& v,
                  const Tensor& step, const Tensor& lr, const AdamUpdate& options = {},
                  const Tensor& skip = {});

}  // namespace plimsoll
