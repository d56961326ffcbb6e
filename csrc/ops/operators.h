// Operators of tensors in formulas. They stand in for ATen's (ATen/TensorOperators.h, which no file may include beside
// this one): sums and products of few numbers are computed here (ops/few.h), the others by ATen. Templates of every
// namespace find them where they find ATen's, in the namespace of their operands; `static` keeps the two apart.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include "ops/few.h"

namespace cg {
at::Tensor add_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor mul_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor div_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor rsub_scalar(const at::Tensor&, const c10::Scalar&);
at::Tensor rdiv_scalar(const at::Tensor&, const c10::Scalar&);

}  // namespace cg

namespace at {
// Numbers go through functions of number.cpp, which keep their tensors.
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
  return cg::add_scalar(x, -s);
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
