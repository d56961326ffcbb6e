// Reductions over each gradient in a list, for clipping and loss scaling.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

struct Square {
  static constexpr int operands = 1;
  template <class C>
  CG_FN C operator()(const C (&v)[operands]) const {
    return v[0] * v[0];
  }
};
struct NotFinite {
  static constexpr int operands = 1;
  template <class C>
  CG_FN C operator()(const C (&v)[operands]) const {
    return v[0] - v[0] == 0 ? C(0) : C(1);
  }
};

// The sum of squares. For float it may overflow, like a norm computed in float.
template <class Run>
Status sum_of_squares(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template reduce<T>(Square{}, c); });
}
// The number of elements that are infinite or NaN.
template <class Run>
Status count_not_finite(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template reduce<T>(NotFinite{}, c); });
}

}  // namespace cg::kernels
