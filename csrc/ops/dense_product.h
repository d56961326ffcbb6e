// Products of two matrices by the fastest library.
#pragma once
#include "ops/functions.h"

namespace cg {

// Whether MKL, which ATen's products call, does not use the AVX-512 that the processor has.
bool mkl_is_slow();

// a b, or with `turned` a bᵀ, for matrices of floats, plus `bias` (columns) if it is defined, where own loops or
// another library are faster than ATen; otherwise an undefined tensor.
Tensor fast_product(const Tensor& a, const Tensor& b, const Tensor& bias = {}, bool turned = false);

// Whether kernels/few_rows.h should multiply that many rows by a matrix of that many numbers of float32, because most
// of the time goes into reading the matrix.
bool few_rows(int64_t rows, int64_t numbers);
// Writes x wᵀ + bias into y (rows, many), for floats in main memory. w and bias are in C order; x is, or it has the
// first columns of a matrix (length, kernels::kMostRows) as rows.
void product_of_few_rows(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y);

// NumPy's matmul.
inline Tensor dense_product(const Tensor& a, const Tensor& b) {
  Tensor y = fast_product(a, b);
  return y.defined() ? y : at::matmul(a, b);
}
// a bᵀ for matrices.
inline Tensor turned_product(const Tensor& a, const Tensor& b) {
  Tensor y = fast_product(a, b, {}, true);
  return y.defined() ? y : at::matmul(a, b.t());
}
inline Var turned_product(const Var& a, const Var& b) { return matmul(a, transpose(b, 0, 1)); }
inline Var dense_product(const Var& a, const Var& b) { return matmul(a, b); }

}  // namespace cg
