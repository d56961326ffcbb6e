// The error function of floats, and its derivative.
#pragma once
#include "kernels/simd.h"

namespace cg::simd {

// Exact to two units in the last place. Below 1 it is x times a polynomial in x x, from there on 1 - exp(polynomial);
// the coefficients make the largest relative error as small as possible (Lawson's iteration in float64).
CG_INLINE float erf(float x) {
  const float given = __builtin_fabsf(x), a = detail::pick(given > 4.0f, 4.0f, given), s = a * a;
  float u = __builtin_fmaf(7.85385782e-05f, s, -0.000801019254f);
  u = __builtin_fmaf(u, s, 0.00518832775f);
  u = __builtin_fmaf(u, s, -0.026853811f);
  u = __builtin_fmaf(u, s, 0.112835854f);
  u = __builtin_fmaf(u, s, -0.37612626f);
  u = __builtin_fmaf(u, s, 0.128379166f);
  u = __builtin_fmaf(a, u, a);
  float v = __builtin_fmaf(-2.16976387e-05f, a, 0.000441472919f);
  v = __builtin_fmaf(v, a, -0.00420528604f);
  v = __builtin_fmaf(v, a, 0.0252103433f);
  v = __builtin_fmaf(v, a, -0.108422101f);
  v = __builtin_fmaf(v, a, -0.633216381f);
  v = __builtin_fmaf(v, a, -1.12958026f);
  v = __builtin_fmaf(v, a, 0.000188467806f);
  float power, p;
  detail::reduce_exp(v, power, p);
  v = 1.0f - __builtin_fmaf(power, p, power);
  return __builtin_copysignf(detail::pick(a >= 1.0f, v, u), x);
}
// gy times the derivative of erf at x.
CG_INLINE float erf_slope(float gy, float x) { return gy * (exp(-(x * x)) * 1.12837917f); }  // 2 / sqrt(pi)

}  // namespace cg::simd
