#pragma once
#include <ATen/core/Tensor.h>

namespace cg {

// at::tanh, six times as fast for floats in main memory, and exact to three units in the last place.
at::Tensor fast_tanh(const at::Tensor& x);

// at::erf, twice as fast for floats in main memory, and exact to two units in the last place.
at::Tensor fast_erf(const at::Tensor& x);

}  // namespace cg
