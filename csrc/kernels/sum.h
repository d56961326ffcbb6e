// y = scale (x0 + x1 + ...), summed from left to right.
#pragma once
#include <utility>

#include "kernels/call.h"

namespace cg::kernels {

constexpr int kMaxSummands = 8;

template <int n>
struct Sum {
  static constexpr int operands = n + 1;  // y, which may be one of the x, and x0, x1, ...
  static constexpr unsigned reads = first(operands) & ~mask(0), writes = mask(0);
  double scale;
  template <class C>
  CG_FN void operator()(C (&v)[operands]) const {
    C sum = v[1];
    for (int k = 2; k < operands; ++k) sum += v[k];
    v[0] = sum * C(scale);
  }
};

// Operands: y, then at most eight x. Numbers: the scale, or none.
template <class Run>
Status sum_n(const Call& c) {
  const double scale = c.n_numbers ? c.numbers[0] : 1;
  return by_dtype(c, [&]<class T>() {
    Status status = kBadCall;
    [&]<int... n>(std::integer_sequence<int, n...>) {
      ((c.operands == n + 2 && (status = Run::template map<T>(Sum<n + 1>{scale}, c), true)) || ...);
    }(std::make_integer_sequence<int, kMaxSummands>());
    return status;
  });
}

}  // namespace cg::kernels
