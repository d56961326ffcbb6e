// Rows as blocks of a fixed width.
#pragma once
#include "kernels/simd.h"

namespace cg::kernels::planes {

template <int N>
struct Width {
  static constexpr int value = N;
};
// Calls f(Width<B>()) for the largest power of two B <= n, at most L, so that a row of n numbers consists of blocks of
// B numbers, of which the last two may overlap.
template <class F>
CG_INLINE void by_width(int64_t n, F&& f) {
  if (n >= 16) return f(Width<16>());
  if (n >= 8) return f(Width<8>());
  if (n >= 4) return f(Width<4>());
  if (n >= 2) return f(Width<2>());
  if (n == 1) f(Width<1>());
}
template <int B, class F>
CG_INLINE void in_blocks(int64_t n, F&& f) {
  int64_t k = 0;
  for (; k + B <= n; k += B) f(k);
  if (k < n) f(n - B);
}
}  // namespace cg::kernels::planes
