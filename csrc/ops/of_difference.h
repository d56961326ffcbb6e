// Losses that depend on the difference of two tensors.
#pragma once
#include "ops/functions.h"

namespace cg {

// A loss of a - b: the gradient with respect to a is `slope`, that with respect to b is its negative.
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
