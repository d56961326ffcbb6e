// Gradients that are sums over rows (Ctx::grad_of_rows).
#pragma once
#include "core/named.h"

namespace cg {

// aᵀ b, in a recorded pass as one function: the gradient of a function for aᵀ would be transposed, and slow to add.
Tensor product_of_rows(const Tensor& a, const Tensor& b);  // dense_product.cpp
Var product_of_rows(const Var& a, const Var& b);           // matmul.cpp

// aᵀ b: the gradient of a matrix that the rows `a` were multiplied by.
struct ProductOfRows {
  template <class T>
  static T of(const T& a, const T& b, at::IntArrayRef sizes) {
    return shaped(product_of_rows(a, b), sizes);
  }
  static bool write(const Tensor& to, const Tensor& a, const Tensor& b);
  static bool add(const Tensor& to, const Tensor& a, const Tensor& b);
};
// The gradient of what was added to each of the rows `b`.
struct TotalOfRows {
  template <class T>
  static T of(const T& /*a*/, const T& b, at::IntArrayRef sizes) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (Tensor y = of_few(b); y.defined()) return shaped(y, sizes);
    return shaped(sum(b, {0}), sizes);
  }
  static Tensor of_few(const Tensor& b);
  static bool add(const Tensor& to, const Tensor& a, const Tensor& b);
  static constexpr bool adds_at_once = true;
};

}  // namespace cg
