// What clipping and loss scaling ask of gradients, for each tensor of a list.
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

// The sum of squares. Of float it may overflow, as a norm in float does.
template <class Run>
Status sum_of_squares(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template reduce<T>(Square{}, c); });
}
// How many elements are infinite or no number.
template <class Run>
Status count_not_finite(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template reduce<T>(NotFinite{}, c); });
}

}  // namespace cg::kernels
