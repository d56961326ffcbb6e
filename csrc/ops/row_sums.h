// Gradients that are sums over rows (Ctx::grad_of_rows).
#pragma once
#include "ops/named.h"

namespace cg {

// aᵀ b: the gradient of a matrix that the rows `a` were multiplied by.
struct ProductOfRows {
  template <class T>
  static T of(const T& a, const T& b, at::IntArrayRef sizes) {
    return shaped(matmul(transpose(a, 0, 1), b), sizes);
  }
};
// The gradient of what was added to each of the rows `b`.
struct TotalOfRows {
  template <class T>
  static T of(const T& /*a*/, const T& b, at::IntArrayRef sizes) {
    return shaped(sum(b, {0}), sizes);
  }
};

}  // namespace cg
