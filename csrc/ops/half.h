// For special functions of ATen without kernels for float16.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg {

// f(x), computed in float32 if x is float16 or bfloat16.
template <class F>
at::Tensor at_least_float(const at::Tensor& x, F&& f) {
  const auto dtype = x.scalar_type();
  return dtype == at::kHalf || dtype == at::kBFloat16 ? f(x.to(at::kFloat)).to(dtype) : f(x);
}

}  // namespace cg
