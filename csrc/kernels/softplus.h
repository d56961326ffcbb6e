// log(1 + exp(x)) and its gradient.
#pragma once
#include "kernels/simd.h"

namespace cg::kernels {

namespace detail {
// 1 / (2 k + 1) + q / (2 k + 3) + ..., up to the term with q ** (last - k).
template <int k, int last, class T>
CG_INLINE T odd_fractions(T q) {
  constexpr T first = T(1) / (2 * k + 1);
  if constexpr (k == last)
    return first;
  else if constexpr (sizeof(T) == sizeof(float))
    return __builtin_fmaf(q, odd_fractions<k + 1, last>(q), first);
  else
    return __builtin_fma(q, odd_fractions<k + 1, last>(q), first);
}
}  // namespace detail

// log(1 + e) for e from 0 to 1, as 2 artanh(e / (2 + e)): exact to two units in the last place also near 0. The sum
// ends where the next term is below half a unit for the largest quotient, 1 / 3.
template <class T>
CG_INLINE T log_of_one_and(T e) {
  const T s = e / (2 + e);
  // A square so small that it is denormal would take a hundred times as long; the sum is 1 then
  const T t = s > T(1e-15) ? s : T(1e-15);
  return (s + s) * detail::odd_fractions<0, sizeof(T) == sizeof(float) ? 7 : 16>(t * t);
}

// log(1 + exp(beta x)) / beta; x itself where that is equal. exp of a number below 0 does not overflow.
template <class T>
CG_INLINE T softplus(T x, T beta) {
  const T z = x * beta, size = z < 0 ? -z : z;
  const T y = ((z < 0 ? 0 : z) + log_of_one_and(simd::exp(-size))) / beta;
  return simd::detail::pick(z > 40, x, y);
}

}  // namespace cg::kernels
