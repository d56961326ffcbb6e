// What the formulas of update rules call, for numbers.
#pragma once
#include <cmath>
#include <type_traits>

namespace cg::optim {

// Names that formulas use on numbers. NaN stays NaN, as with NumPy.
template <class T>
concept Number = std::is_floating_point_v<T>;
template <Number T>
T root(T x) {
  return std::sqrt(x);
}
template <Number T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <Number T>
T at_most(T x, T high) {
  return x < high || x != x ? x : high;
}
template <Number T>
T at_least(T x, T low) {
  return x > low || x != x ? x : low;
}
template <Number T>
T nan_to_zero(T x) {
  return x == x ? x : T(0);
}
template <Number T>
T sign_of(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}
template <Number T>
T magnitude(T x) {
  return std::abs(x);
}
template <Number T>
T widened(T x) {
  return x;
}  // a half tensor: in single precision

}  // namespace cg::optim
