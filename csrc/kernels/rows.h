// Index functors over rows and columns: Run::each calls f(row, column) for each column of each row.
#pragma once
#include "kernels/simd.h"
#include "kernels/walk.h"

namespace cg::kernels::detail {

// `narrow`: all operands have less than 2^31 elements, so that 32-bit indices suffice; 64-bit arithmetic is slow on a
// GPU.
template <class F, bool narrow = false>
struct Rowwise {
  F f;
  int64_t columns;
  CG_FN void operator()(int64_t i) const {
    if constexpr (narrow) {
      const auto row = static_cast<int32_t>(static_cast<uint32_t>(i) / static_cast<uint32_t>(columns));
      f(row, static_cast<int32_t>(i) - row * static_cast<int32_t>(columns));
    } else {
      const bool small = (i | columns) >> 31 == 0;
      const int64_t row = small ? static_cast<uint32_t>(i) / static_cast<uint32_t>(columns) : i / columns;
      f(row, i - row * columns);
    }
  }
};
// The overload for Cpu::each: a loop over each row's columns, without divisions.
template <class F>
CG_INLINE void each_loop(const Rowwise<F>& given, int64_t begin, int64_t end) {
  const F f = given.f;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / given.columns, first = i - row * given.columns, left = end - i + first;
    const int64_t last = left < given.columns ? left : given.columns;
    CG_IVDEP
    for (int64_t k = first; k < last; ++k) f(row, k);
    i += last - first;
  }
}

}  // namespace cg::kernels::detail
