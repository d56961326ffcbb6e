// Numbers with a derivative along one direction (dual numbers). A formula evaluated with them gives its value and its
// derivative; so second derivatives follow from the first derivative, without a hand-written formula.
//
// C: float, double, or any type with +, -, *, tanh and sigmoid (tensors, recorded variables, dual numbers).
#pragma once
#include "kernels/functor.h"

namespace cg::kernels {

using math::sigmoid, math::tanh;

template <class C>
CG_FN C one_minus(const C& y) {
  if constexpr (std::is_floating_point_v<C>)
    return C(1) - y;
  else
    return 1.0 - y;
}
// Derivatives of tanh and the logistic function, computed from their values.
template <class C>
CG_FN C tanh_slope(const C& y) {
  return one_minus(y * y);
}
template <class C>
CG_FN C sigmoid_slope(const C& y) {
  return y * one_minus(y);
}

template <class C>
struct Dual {
  C value, change;
};
template <class C>
CG_FN Dual<C> operator+(const Dual<C>& a, const Dual<C>& b) {
  return {a.value + b.value, a.change + b.change};
}
template <class C>
CG_FN Dual<C> operator-(const Dual<C>& a, const Dual<C>& b) {
  return {a.value - b.value, a.change - b.change};
}
template <class C>
CG_FN Dual<C> operator*(const Dual<C>& a, const Dual<C>& b) {
  return {a.value * b.value, a.change * b.value + a.value * b.change};
}
template <class C>
CG_FN Dual<C> one_minus(const Dual<C>& y) {
  return {one_minus(y.value), -y.change};
}
template <class C>
CG_FN Dual<C> tanh(const Dual<C>& x) {
  const C y = tanh(x.value);
  return {y, x.change * tanh_slope(y)};
}
template <class C>
CG_FN Dual<C> sigmoid(const Dual<C>& x) {
  const C y = sigmoid(x.value);
  return {y, x.change * sigmoid_slope(y)};
}

}  // namespace cg::kernels
