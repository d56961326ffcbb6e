// One definition of an elementwise function for both of its ways: one loop on the CPU, ATen's kernels elsewhere.
#pragma once
#include "kernels/map.h"
#include "ops/functions.h"

// On a lambda that `fused` gets: without it a loop would call it for each element.
#define CG_EACH __attribute__((always_inline))

namespace cg {

// `each` on the elements, where the tensors are there and dense; else `composed` on the whole.
template <class F, class G, class T, class... X>
T fused(F each, G composed, const T& x, const X&... xs) {
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor y = kernels::map(each, x, xs...);
    if (y.defined()) return y;
  }
  return composed(x, xs...);
}

}  // namespace cg
