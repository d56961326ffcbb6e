// Operators of tensors in formulas. They replace ATen's operators (ATen/TensorOperators.h, which must not be included
// together with this file): operations on small tensors use the loops of ops/few.h, the others use ATen. They are in
// ATen's namespace, so that templates of every namespace find them by argument-dependent lookup; `static` avoids a
// conflict with ATen's at link time.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <limits>

#include "ops/few.h"

namespace cg {
at::Tensor add_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor mul_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor div_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor rsub_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor rdiv_scalar(const at::Tensor&, const c10::Scalar&);

// -s. Scalar's own gives the least int64_t for the least one, because no int64_t is 2^63.
inline c10::Scalar negative_of(const c10::Scalar& s) {
  if (s.isIntegral(false) && s.toLong() == std::numeric_limits<int64_t>::min()) return 0x1p63;
  return -s;
}

}  // namespace cg

namespace at {
// Numbers use the functions of number.cpp, which cache their tensors.
template <class N>
concept Number = std::is_arithmetic_v<N>;
template <Number N>
static Tensor operator+(const Tensor& x, N s) {
  return cg::add_scalar(x, s);
}
template <Number N>
static Tensor operator+(N s, const Tensor& x) {
  return cg::add_scalar(x, s);
}
template <Number N>
static Tensor operator-(const Tensor& x, N s) {
  return cg::add_scalar(x, cg::negative_of(s));
}
template <Number N>
static Tensor operator-(N s, const Tensor& x) {
  return cg::rsub_scalar(x, s);
}
template <Number N>
static Tensor operator*(const Tensor& x, N s) {
  return cg::mul_scalar(x, s);
}
template <Number N>
static Tensor operator*(N s, const Tensor& x) {
  return cg::mul_scalar(x, s);
}
template <Number N>
static Tensor operator/(const Tensor& x, N s) {
  return cg::div_scalar(x, s);
}
template <Number N>
static Tensor operator/(N s, const Tensor& x) {
  return cg::rdiv_scalar(x, s);
}

static inline Tensor operator+(const Tensor& a, const Tensor& b) { return cg::few::add(a, b); }
static inline Tensor operator-(const Tensor& a, const Tensor& b) { return cg::few::sub(a, b); }
static inline Tensor operator*(const Tensor& a, const Tensor& b) { return cg::few::mul(a, b); }
static inline Tensor operator/(const Tensor& a, const Tensor& b) { return cg::few::div(a, b); }

#define CG_BY_ATEN(OP, NAME)                                                               \
  static inline Tensor operator OP(const Tensor& a, const Tensor& b) { return a.NAME(b); } \
  static inline Tensor operator OP(const Tensor& a, const c10::Scalar& s) { return a.NAME(s); }
CG_BY_ATEN(<, lt)
CG_BY_ATEN(<=, le)
CG_BY_ATEN(>, gt)
CG_BY_ATEN(>=, ge)
CG_BY_ATEN(==, eq)
CG_BY_ATEN(!=, ne)
CG_BY_ATEN(&, bitwise_and)
CG_BY_ATEN(|, bitwise_or)
CG_BY_ATEN(^, bitwise_xor)
#undef CG_BY_ATEN

}  // namespace at
