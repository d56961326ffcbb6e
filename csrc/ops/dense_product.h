// Products of two matrices by the fastest library.
#pragma once
#include "ops/functions.h"

namespace cg {

// a b for large matrices of floats, plus `bias` (columns) if it is defined, where another library is faster than the
// one that ATen calls; otherwise an undefined tensor.
Tensor fast_product(const Tensor& a, const Tensor& b, const Tensor& bias = {});

// NumPy's matmul.
inline Tensor dense_product(const Tensor& a, const Tensor& b) {
  Tensor y = fast_product(a, b);
  return y.defined() ? y : at::matmul(a, b);
}
inline Var dense_product(const Var& a, const Var& b) { return matmul(a, b); }

}  // namespace cg
