// Element-wise functions with two implementations: one loop on the CPU, and ATen's functions elsewhere.
#pragma once
#include "kernels/map.h"
#include "ops/functions.h"

namespace cg {

// Applies `each` to the elements if the tensors have data and are dense; otherwise calls `composed` on the tensors.
template <class F, class G, class T, class... X>
T fused(F each, G composed, const T& x, const X&... xs) {
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor y = kernels::map(each, x, xs...);
    if (y.defined()) return y;
  }
  return composed(x, xs...);
}

}  // namespace cg
