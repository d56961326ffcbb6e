// Functions on numbers that the formulas of update rules call.
#pragma once
#include <concepts>

#include "kernels/call.h"

namespace cg::optim {

// As in NumPy, NaN stays NaN.
template <class T>
concept Number = std::floating_point<T>;
template <Number T>
CG_FN T root(T x) {
  return kernels::math::sqrt(x);
}
template <Number T>
CG_FN T larger(T a, T b) {
  return kernels::math::max(a, b);
}
template <Number T>
CG_FN T at_most(T x, T high) {
  return kernels::math::min(x, high);
}
template <Number T>
CG_FN T at_least(T x, T low) {
  return kernels::math::max(x, low);
}
template <Number T>
CG_FN T nan_to_zero(T x) {
  return x == x ? x : T(0);
}
template <Number T>
CG_FN T sign_of(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}
template <Number T>
CG_FN T direction_of(T x) {  // 0 for NaN; without a branch
  return T(x > 0) - T(x < 0);
}
template <Number T>
CG_FN T magnitude(T x) {
  return kernels::math::abs(x);
}
template <Number T>
CG_FN T widened(T x) {
  return x;
}  // for a half tensor: in single precision

}  // namespace cg::optim
