// Means to vectorize CPU loops: one clone of a function per instruction set (CG_SIMD), selected when the module is
// loaded, and functions without branches. Everything that a CG_SIMD function calls must be inlined into it (CG_INLINE);
// otherwise it is compiled for the baseline instruction set.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define CG_INLINE inline __attribute__((always_inline))
// Placed before a loop whose arrays do not overlap, because __restrict has no effect on variables captured in a lambda.
#if defined(__clang__)
#define CG_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define CG_IVDEP _Pragma("GCC ivdep")
#endif
#if defined(__clang__)
#define CG_VECTORIZE unused
#else
// With -O2 alone most loops stay scalar, and so do loops with a select whose operands could trap.
#define CG_VECTORIZE optimize("O3", "no-math-errno", "no-trapping-math")
#endif
// Names of levels, not of processor models: a clone for "arch=haswell" would be selected only on that model.
#if defined(__x86_64__) && defined(__gnu_linux__) && __GNUC__ >= 12 && !defined(__clang__)
#define CG_SIMD \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) __attribute__((CG_VECTORIZE))
#elif defined(__x86_64__) && defined(__gnu_linux__)
#define CG_SIMD __attribute__((target_clones("avx512f", "avx2", "default"))) __attribute__((CG_VECTORIZE))
#else
#define CG_SIMD __attribute__((CG_VECTORIZE))
#endif

namespace cg::simd {

namespace detail {
template <class T>
CG_INLINE auto bits(T x) {
  std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t> r;
  static_assert(sizeof r == sizeof x);
  std::memcpy(&r, &x, sizeof r);
  return r;
}
template <class T>
CG_INLINE auto from_bits(T r) {
  std::conditional_t<sizeof(T) == sizeof(float), float, double> x;
  static_assert(sizeof x == sizeof r);
  std::memcpy(&x, &r, sizeof x);
  return x;
}
// c ? a : b, which compilers may turn into a branch that ends vectorization.
template <class T>
CG_INLINE T pick(bool c, T a, T b) {
  const auto mask = -static_cast<decltype(bits(a))>(c);
  return from_bits((bits(a) & mask) | (bits(b) & ~mask));
}
// exp(x) = power (1 + p), with power = 2^n and |x - n ln 2| <= ln 2 / 2, for |x| < 88. p is the Taylor sum to the
// seventh power, exact to a unit in the last place of p itself. Fused multiply-adds are written explicitly, so that
// every processor computes the same numbers; they are one instruction on processors with AVX2, and a function of the C
// library on others. V: float, or a vector of floats, for code that runs only where a product and a sum of vectors are
// one instruction.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors never cross the boundary of a function: these are inlined
template <class V, class A, class B>
CG_INLINE V product_sum(const V& a, const A& b, const B& c) {
  if constexpr (std::is_same_v<V, float>)
    return __builtin_fmaf(a, b, c);
  else
    return a * b + c;
}
template <class V>
CG_INLINE void reduce_exp(const V& x, V& power, V& p) {
  const V shifted = product_sum(x, 1.44269504f, 12582912.0f);  // 1.5 * 2^23: rounds to an integer
  const V n = shifted - 12582912.0f;
  const V r = product_sum(n, 2.12194440e-4f, product_sum(n, -0.693359375f, x));  // ln 2 in two parts
  p = product_sum(r, 1.0f / 5040, 1.0f / 720);
  p = product_sum(p, r, 1.0f / 120);
  p = product_sum(p, r, 1.0f / 24);
  p = product_sum(p, r, 1.0f / 6);
  p = product_sum(p, r, 0.5f);
  const V pr = p * r;
  p = product_sum(pr, r, r);
  if constexpr (std::is_same_v<V, float>) {
    power = from_bits((bits(shifted) + 127u) << 23);  // the low bits of `shifted` are n
  } else {
    using Bits = decltype(x < x);  // a vector of integers
    power = reinterpret_cast<V>((reinterpret_cast<Bits>(shifted) + 127) << 23);
  }
}
#pragma GCC diagnostic pop
}  // namespace detail

// Exact to three units in the last place for -87 < x < 88; below the result is 0, above it is infinity.
CG_INLINE float exp(float x) {
  float power, p;
  detail::reduce_exp(x, power, p);
  const float y = detail::pick(x > 88.0f, HUGE_VALF, __builtin_fmaf(power, p, power));
  return detail::pick(x < -87.0f, 0.0f, y);
}
CG_INLINE float tanh(float x) {
  float power, p;
  detail::reduce_exp(x + x, power, p);
  const float e = __builtin_fmaf(power, p, power - 1.0f);  // exp(2 x) - 1, without cancellation near 0
  const uint32_t sign = detail::bits(x) & 0x80000000u;
  const float one = detail::from_bits(sign | 0x3f800000u);
  return detail::from_bits(sign | detail::bits(detail::pick(x * one > 10.0f, one, e / (e + 2.0f))));  // -0 for -0
}
// Exact to two units in the last place for -707 < x; below the result is 0. As for floats, with the Taylor sum to the
// thirteenth power; the power of 2 is halved at first, because 2^1024 is no number.
CG_INLINE double exp(double x) {
  const double shifted = __builtin_fma(x, 1.4426950408889634, 6755399441055744.0);  // 1.5 * 2^52
  const double n = shifted - 6755399441055744.0;
  const double r = __builtin_fma(n, -1.9082149292705877e-10, __builtin_fma(n, -6.93147180369123816490e-01, x));
  double p = __builtin_fma(r, 1.0 / 6227020800, 1.0 / 479001600);
  p = __builtin_fma(p, r, 1.0 / 39916800);
  p = __builtin_fma(p, r, 1.0 / 3628800);
  p = __builtin_fma(p, r, 1.0 / 362880);
  p = __builtin_fma(p, r, 1.0 / 40320);
  p = __builtin_fma(p, r, 1.0 / 5040);
  p = __builtin_fma(p, r, 1.0 / 720);
  p = __builtin_fma(p, r, 1.0 / 120);
  p = __builtin_fma(p, r, 1.0 / 24);
  p = __builtin_fma(p, r, 1.0 / 6);
  p = __builtin_fma(p, r, 0.5);
  p = __builtin_fma(p * r, r, r);
  const double half = detail::from_bits((detail::bits(shifted) + 1022u) << 52);
  const double y = detail::pick(x > 709.8, HUGE_VAL, 2 * __builtin_fma(half, p, half));
  return detail::pick(x < -707.0, 0.0, y);
}
CG_INLINE double tanh(double x) { return std::tanh(x); }

template <class T>
CG_INLINE T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}

// Sums and maxima use independent lanes, because the compiler must not reorder a single sum.
constexpr int lanes = 16;
template <class T, class F>
CG_INLINE T sum(int64_t n, F&& term) {
  T s[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) s[k] += term(i + k);
  for (; i < n; ++i) s[0] += term(i);
  for (int width = lanes / 2; width; width /= 2)
    for (int k = 0; k < width; ++k) s[k] += s[k + width];
  return s[0];
}
template <class T>
CG_INLINE T max(int64_t n, const T* x) {
  T m[lanes];
  for (int k = 0; k < lanes; ++k) m[k] = x[0];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) m[k] = x[i + k] > m[k] ? x[i + k] : m[k];
  for (; i < n; ++i) m[0] = x[i] > m[0] ? x[i] : m[0];
  for (int k = 1; k < lanes; ++k) m[0] = m[k] > m[0] ? m[k] : m[0];
  return m[0];
}

}  // namespace cg::simd
