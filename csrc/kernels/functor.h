// Functions that a kernel's functor may use. A functor is compiled three times: for CPU loops, by nvcc for GPUs, and by
// nvcc's host compiler. It needs no header of torch or CUDA; functions that it calls are marked CG_FN.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simd.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define CG_FN __host__ __device__ __forceinline__
#else
#define CG_FN inline __attribute__((always_inline))
#endif

namespace cg::kernels {

// 16-bit elements as they are stored in memory; functors get them as float.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

namespace detail {
template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<Half> {
  using type = float;
};
template <>
struct Compute<BFloat16> {
  using type = float;
};
CG_INLINE uint32_t pick(bool c, uint32_t a, uint32_t b) {
  const uint32_t mask = -static_cast<uint32_t>(c);
  return (a & mask) | (b & ~mask);
}
}  // namespace detail

// The type for arithmetic: float for all narrower types.
template <class T>
using compute_t = typename detail::Compute<T>::type;

CG_FN float widen(float x) { return x; }
CG_FN double widen(double x) { return x; }
CG_FN float widen(BFloat16 x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
#else
  return simd::detail::from_bits(static_cast<uint32_t>(x.bits) << 16);
#endif
}
CG_FN float widen(Half x) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(x.bits));
#else
  // Without branches. The exponent biases differ by 112; in the subnormal range the bits count units of 2^-24.
  using simd::detail::bits, simd::detail::from_bits;
  const uint32_t magnitude = x.bits & 0x7fffu, sign = (x.bits & 0x8000u) << 16;
  const uint32_t rebias = detail::pick(magnitude >= 0x7c00u, 224u << 23, 112u << 23);
  const float small = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  return from_bits(sign | detail::pick(magnitude < 0x0400u, bits(small), (magnitude << 13) + rebias));
#endif
}

template <class T>
CG_FN T narrow(compute_t<T> x) {
  return x;
}
template <>
CG_FN BFloat16 narrow<BFloat16>(float x) {
#if defined(__CUDA_ARCH__)
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#else
  const uint32_t b = simd::detail::bits(x);
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;  // to nearest, ties to even
  return {static_cast<uint16_t>(detail::pick((b & 0x7fffffffu) > 0x7f800000u, (b >> 16) | 0x40u, rounded))};
#endif
}
template <>
CG_FN Half narrow<Half>(float x) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(x))};
#else
  using simd::detail::bits, simd::detail::from_bits;
  const uint32_t magnitude = bits(x) & 0x7fffffffu, sign = (bits(x) >> 16) & 0x8000u;
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);  // to nearest, ties to even
  const uint32_t normal = (rounded - (112u << 23)) >> 13;
  // Adding 0.5 rounds to units of 2^-24, which are the units of a subnormal half.
  const uint32_t small = bits(from_bits(magnitude) + 0.5f) - bits(0.5f);
  uint32_t r = detail::pick(magnitude < (113u << 23), small, normal);
  r = detail::pick(magnitude >= 0x477ff000u, 0x7c00u, r);  // infinity from 65520 on
  r = detail::pick(magnitude > 0x7f800000u, 0x7e00u, r);
  return {static_cast<uint16_t>(sign | r)};
#endif
}

// Functions of float and double for formulas. On a CPU they have no branches, so that loops that call them are
// vectorized; NaN stays NaN.
namespace math {
#if defined(__CUDA_ARCH__)
CG_FN float exp(float x) { return ::expf(x); }
CG_FN float tanh(float x) { return ::tanhf(x); }
CG_FN float sqrt(float x) { return ::sqrtf(x); }
CG_FN float floor(float x) { return ::floorf(x); }
CG_FN float abs(float x) { return ::fabsf(x); }
CG_FN double exp(double x) { return ::exp(x); }
CG_FN double tanh(double x) { return ::tanh(x); }
CG_FN double sqrt(double x) { return ::sqrt(x); }
CG_FN double floor(double x) { return ::floor(x); }
CG_FN double abs(double x) { return ::fabs(x); }
#else
CG_FN float exp(float x) { return simd::exp(x); }
CG_FN float tanh(float x) { return simd::tanh(x); }
CG_FN double exp(double x) { return std::exp(x); }
CG_FN double tanh(double x) { return std::tanh(x); }
template <class C>
CG_FN C sqrt(C x) {
  return std::sqrt(x);
}
template <class C>
CG_FN C floor(C x) {
  return std::floor(x);
}
template <class C>
CG_FN C abs(C x) {
  return std::abs(x);
}
#endif
template <class C>
CG_FN C sigmoid(C x) {
  return C(1) / (C(1) + exp(-x));
}
template <class C>
CG_FN C max(C a, C b) {
  return a > b || a != a ? a : b;
}
template <class C>
CG_FN C min(C a, C b) {
  return a < b || a != a ? a : b;
}
}  // namespace math

}  // namespace cg::kernels
