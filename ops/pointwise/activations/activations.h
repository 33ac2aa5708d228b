// Activations, element by element; any shape, floating types. PyTorch's definitions, also of the
// gradient at the points where there is none.
//
//   Tensor h = leaky_relu(x, 0.2);
//   Tensor y = silu(linear(x, w));
//
// All gradients are taken from the input, because outputs near a flat end have lost the digits that
// would say how flat. silu and mish of -infinity are NaN; NaN stays NaN. DTypeError for integers.
//
// Sources: leaky_relu Maas et al. 2013; elu Clevert et al. 2015; selu Klambauer et al. 2017; silu
// Elfwing et al. 2017 ("swish"); mish Misra 2019; hardswish and hardsigmoid Howard et al. 2019.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x > 0 ? x : slope x                              dx = dy (x > 0 ? 1 : slope)
Tensor leaky_relu(const Tensor& x, double slope = 0.01);

// x > 0 ? x : alpha (e^x - 1)                      dx = dy (x > 0 ? 1 : alpha e^x)
Tensor elu(const Tensor& x, double alpha = 1);

// scale * elu(x, alpha) with the two constants that keep mean 0 and variance 1 from layer to layer
Tensor selu(const Tensor& x);

// x sigmoid(x)                                     dx = dy s (1 + x (1 - s)), s = sigmoid(x)
Tensor silu(const Tensor& x);

// x tanh(softplus(x))                              dx = dy (t + x (1 - t^2) sigmoid(x))
Tensor mish(const Tensor& x);

// x hardsigmoid(x)               dx = dy (2x + 3) / 6 in [-3, 3), 0 below, dy above; newer
//                                PyTorch gives 0 at -3
Tensor hardswish(const Tensor& x);

// (x + 3) / 6, clipped to [0, 1]                   dx = dy / 6 in (-3, 3), else 0
Tensor hardsigmoid(const Tensor& x);

// log(sigmoid(x)) = -softplus(-x)                  dx = dy sigmoid(-x)
Tensor log_sigmoid(const Tensor& x);

}  // namespace plimsoll
