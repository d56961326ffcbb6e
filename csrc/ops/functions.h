// The functions for backward formulas.
//
// Each function works on Tensors (plain pass) and on Vars (recorded pass). If ATen has the function, argument-dependent
// lookup finds at::NAME for Tensors, and only the version for Vars is declared here; otherwise both are.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/_reshape_alias.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/broadcast_to.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/permute.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/reshape.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/transpose.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "core/arithmetic.h"
#include "core/op.h"
#include "ops/operators.h"

namespace cg {

// ---- arithmetic (arith.cpp) -----------------------------------------------------------------------------------------
Var add(const Var&, const Var&);
Var sub(const Var&, const Var&);
Var mul(const Var&, const Var&);
Var div(const Var&, const Var&);
Var neg(const Var&);
Var add_scalar(const Var&, const c10::Scalar&);
Var mul_scalar(const Var&, const c10::Scalar&);
Var rsub_scalar(const Var&, const c10::Scalar&);  // scalar - x
Var rdiv_scalar(const Var&, const c10::Scalar&);  // scalar / x
Var pow(const Var&, const c10::Scalar&);
Var pow(const Var&, const Var&);
// Calls `in_place(g)`, which overwrites g, if g may be overwritten; otherwise `fresh()`.
template <class T, class F, class G>
T overwrite_or(const T& g, F&& in_place, G&& fresh) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (may_overwrite(g)) {
      Tensor buffer = g;
      return in_place(buffer);
    }
  }
  return fresh();
}

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }
inline Var operator-(const Var& a) { return neg(a); }
// -x; for Tensors faster than the operator, which is ATen's.
inline Var negated(const Var& x) { return neg(x); }
inline Tensor negated(const Tensor& x) { return few::neg(x); }
inline Var operator+(const Var& a, const c10::Scalar& s) { return add_scalar(a, s); }
inline Var operator+(const c10::Scalar& s, const Var& a) { return add_scalar(a, s); }
inline Var operator-(const Var& a, const c10::Scalar& s) { return add_scalar(a, negative_of(s)); }
inline Var operator-(const c10::Scalar& s, const Var& a) { return rsub_scalar(a, s); }
inline Var operator*(const Var& a, const c10::Scalar& s) { return mul_scalar(a, s); }
inline Var operator*(const c10::Scalar& s, const Var& a) { return mul_scalar(a, s); }
inline Var operator/(const Var& a, const c10::Scalar& s) { return mul_scalar(a, 1.0 / s.toDouble()); }
inline Var operator/(const c10::Scalar& s, const Var& a) { return rdiv_scalar(a, s); }
// Operators with constants (masks, counts) in a formula.
inline Var operator*(const Var& a, const Tensor& c) { return mul(a, Var(c)); }
inline Var operator/(const Var& a, const Tensor& c) { return div(a, Var(c)); }
inline Var operator+(const Var& a, const Tensor& c) { return add(a, Var(c)); }

// ---- elementwise (arith.cpp, trig.cpp, activation.cpp) --------------------------------------------------------------
Var abs(const Var&);
Var sign(const Var&);
Var exp(const Var&);
Var log(const Var&);
Var sqrt(const Var&);
Var rsqrt(const Var&);
Var square(const Var&);
Var reciprocal(const Var&);
Var sin(const Var&);
Var cos(const Var&);
Var sinh(const Var&);
Var cosh(const Var&);
Var tanh(const Var&);
Var sigmoid(const Var&);
// `c`: the condition for `a`; not differentiated.
Var where(const Var& c, const Var& a, const Var& b);
// gy where lower < x < upper, else 0.
Var hardtanh_backward(const Var& gy, const Var& x, double lower, double upper);
// First derivatives that ATen has as one function; linear in `gy` (activation.cpp).
Var tanh_backward(const Var& gy, const Var& y);
Var sigmoid_backward(const Var& gy, const Var& y);

Tensor softmax(const Tensor&, int64_t axis);
Var softmax(const Var&, int64_t axis);
Tensor log_softmax(const Tensor&, int64_t axis);

// ---- shape (shape.cpp, reduce.cpp) ----------------------------------------------------------------------------------
Var reshape(const Var&, at::IntArrayRef shape);
Var permute(const Var&, at::IntArrayRef axes);
Var transpose(const Var&, int64_t a, int64_t b);
Var broadcast_to(const Var&, at::IntArrayRef shape);
Var sum(const Var&, at::IntArrayRef axes, bool keepdim = false);
Var mean(const Var&, at::IntArrayRef axes, bool keepdim = false);
Var cumsum(const Var&, int64_t axis);
Var cumprod(const Var&, int64_t axis);
Var flip(const Var&, at::IntArrayRef axes);
Tensor concat(TensorList, int64_t axis);
Var concat(VarsRef, int64_t axis);
// The transpose of broadcasting: sums to `shape`.
Tensor sum_to(const Tensor&, at::IntArrayRef shape);
Var sum_to(const Var&, at::IntArrayRef shape);
Tensor cast(const Tensor&, at::ScalarType);
Var cast(const Var&, at::ScalarType);

// ---- products (matmul.cpp) ------------------------------------------------------------------------------------------
// NumPy's matmul: vectors, matrices, batches with broadcasting.
Var matmul(const Var&, const Var&);

// ---- helpers --------------------------------------------------------------------------------------------------------
// A constant of type T.
template <class T>
T constant(Tensor t) {
  return T(std::move(t));
}
// The tensor if its values can be read now; undefined if they are computed later.
inline const Tensor& known(const Tensor& t) { return t; }
Tensor known(const Var& v);
// The result of `f` on tensors, as a constant without gradient: masks, counts and signs.
using Frozen = std::function<Tensor(c10::ArrayRef<Tensor>)>;
Var frozen_var(Frozen f, VarsRef xs);
template <class F, class... X>
Tensor frozen(F&& f, const Tensor& x, const X&... xs) {
  return f(x, xs...);
}
template <class F, class... X>
Var frozen(F f, const Var& x, const X&... xs) {
  const Var in[] = {x, xs...};
  return frozen_var(
      [f](c10::ArrayRef<Tensor> t) {
        return [&]<size_t... I>(std::index_sequence<I...>) {
          return f(t[I]...);
        }(std::make_index_sequence<sizeof...(X) + 1>());
      },
      in);
}
template <class T>
T zeros_as(const T& x) {
  return T(at::zeros_like(value(x)));
}
// Copies an array reference, for parameters that are stored.
inline Ints ints(at::IntArrayRef a) { return Ints(a.begin(), a.end()); }
// The axis as a nonnegative number; IndexError if it does not exist.
inline int64_t wrap_axis(int64_t axis, int64_t ndim) { return c10::maybe_wrap_dim(axis, ndim); }
// base_axis as a nonnegative number. Not checked: callers check it, with their own error messages.
inline int64_t wrap_base_axis(int64_t axis, int64_t ndim) { return axis < 0 ? axis + ndim : axis; }

// `x` reshaped; returns `x` if it already has the shape.
template <class T>
T shaped(const T& x, at::IntArrayRef sizes) {
  if (x.sizes() == sizes) return x;
  if constexpr (std::is_same_v<T, Tensor>) {
    const bool given = std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 0; });
    if (given && few::ordinary(x) && few::nobody_watches() && c10::multiply_integers(sizes) == x.numel())
      return few::view_of(x, sizes);
  }
  return reshape(x, sizes);
}
// `x` broadcast to a shape.
template <class T>
T broadcasted(const T& x, at::IntArrayRef sizes) {
  if constexpr (std::is_same_v<T, Tensor>)
    if (Tensor y = few::expanded(x, sizes); y.defined()) return y;
  return broadcast_to(x, sizes);
}

}  // namespace cg
