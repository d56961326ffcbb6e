// Losses of the difference of two tensors.
#pragma once
#include "ops/functions.h"

namespace cg {

// A loss of a - b, whose gradients by a, `slope`, and by b differ in sign.
template <class Op>
struct OfDifference {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  template <class T>
  void backward(Ctx<T>& c) {
    const T g = static_cast<Op*>(this)->slope(c);
    c.grad(0, [&] { return g; });
    c.grad(1, [&] { return -g; });
  }
};

}  // namespace cg
