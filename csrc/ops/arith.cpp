// Arithmetic of tensors and scalars.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/copysign.h>
#include <ATen/ops/isnan.h>

#include <algorithm>

#include "kernels/sum_tensors.h"
#include "ops/one_loop.h"
#include "ops/unary.h"

namespace cg {
namespace {

// ATen has no arithmetic for these dtypes; modulo 2 ** bits it equals that of the signed dtypes.
bool is_wide_unsigned(at::ScalarType t) { return t == at::kUInt16 || t == at::kUInt32 || t == at::kUInt64; }
template <class F>
Tensor modular(const Tensor& a, const Tensor& b, F f) {
  const at::ScalarType t = a.scalar_type();
  if (!is_wide_unsigned(t) || b.scalar_type() != t) return f(a, b);
  return f(a.to(at::kLong), b.to(at::kLong)).to(t);
}

struct Add {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& a, const Tensor& b) { return modular(a, b, few::add); }
  Tensor forward_into(Tensor y, const Tensor& a, const Tensor& b) {
    const auto plus = [](auto a, auto b) CG_EACH { return a + b; };
    return few::map_into(plus, y, a, b) ? y : at::add_out(y, a, b);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] { return c.gy(); });
  }
};
CG_POINTWISE("add", Add, "a + b")

struct Sub {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& a, const Tensor& b) { return modular(a, b, few::sub); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] { return negated(c.gy()); });
  }
};
CG_POINTWISE("sub", Sub, "a - b")

// By the convention for complex gradients (core/pass.h) the formula must be the conjugate of the gradient.
CG_POINTWISE_UNARY(Conj, "conj", 0, x.is_complex() ? at::conj_physical(x) : at::alias(x), conj(c.gy()),
                   "The complex conjugate.")

// A large gradient is overwritten where nobody else needs it, because new memory takes longer.
template <class T, class F, class G>
T large_into(const T& gy, F&& in_place, G&& fresh) {
  return gy.numel() < kLarge ? fresh() : overwrite_or(gy, in_place, fresh);
}

// Each input is read only by the gradient of the other input.
Mask saves_of_product(c10::ArrayRef<bool> needs) { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }

struct Mul {
  Mask saves_for(c10::ArrayRef<bool> needs) const { return saves_of_product(needs); }
  Tensor forward(const Tensor& a, const Tensor& b) { return modular(a, b, few::mul); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * c.in(1); });
    c.grad(1, [&] {
      return large_into(c.gy(), [&](auto& g) { return g.mul_(value(c.in(0))); }, [&] { return c.gy() * c.in(0); });
    });
  }
};
CG_POINTWISE("mul", Mul, "a * b")

struct Div {
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& a, const Tensor& b) { return few::div(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    const T ga = c.gy() / c.in(1);
    c.grad(0, [&] { return ga; });
    c.grad(1, [&] { return negated(ga * c.in(0) / c.in(1)); });
  }
};
CG_POINTWISE("div", Div, "a / b")

CG_POINTWISE_UNARY(Neg, "neg", 0, modular(x, x, [](const Tensor& x, const Tensor&) { return few::neg(x); }),
                   negated(c.gy()), "-x")

CG_POINTWISE_UNARY_WITH(AddScalar, "add_scalar", required, c10::Scalar, value, 0, 0, add_scalar(x, value), c.gy(),
                        "x + value")

CG_POINTWISE_UNARY_WITH(
    MulScalar, "mul_scalar", required, c10::Scalar, value, 1, 0, mul_scalar(x, value),
    large_into(c.gy(), [&](auto& g) { return g.mul_(value); }, [&] { return mul_scalar(c.gy(), value); }), "x * value")

CG_POINTWISE_UNARY_WITH(DivScalar, "div_scalar", required, c10::Scalar, value, 1, 0, div_scalar(x, value),
                        run(DivScalar{value}, c.gy()),
                        "x / value; computed by a division, not by a product with 1 / value.")

CG_POINTWISE_UNARY_WITH(RSubScalar, "rsub_scalar", required, c10::Scalar, value, 0, 0, rsub_scalar(x, value),
                        negated(c.gy()), "value - x")

CG_POINTWISE_UNARY_WITH(RDivScalar, "rdiv_scalar", required, c10::Scalar, value, 1, in_bit(0), rdiv_scalar(x, value),
                        c.gy() * rdiv_scalar(square(c.in(0)), -value), "value / x")

struct PowScalar {
  c10::Scalar exponent = 1;
  static constexpr auto params() { return std::make_tuple(required("exponent", &PowScalar::exponent)); }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::pow(x, exponent); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const double p = exponent.toDouble();
      if (p == 0) return zeros_as(c.gy());
      if (p == 1) return c.gy();
      if (p == 2) return c.gy() * (c.in(0) * 2.0);
      return c.gy() * (pow(c.in(0), c10::Scalar(p - 1)) * p);
    });
  }
};
CG_POINTWISE("pow_scalar", PowScalar, "x ** exponent")

CG_POINTWISE_UNARY_WITH(RPowScalar, "rpow_scalar", required, c10::Scalar, base, 1, out_bit(0), at::pow(base, x),
                        c.gy() * c.out(0) * std::log(base.toDouble()), "base ** x")

struct AddN {
  static constexpr Mask saves = 0;
  Tensor forward(TensorList xs) {
    if (xs[0].is_meta()) {  // on the meta device torch adds by a function in Python, which imports torch's compiler
      at::DimVector sizes(xs[0].sizes());
      for (const Tensor& x : xs.slice(1)) sizes = at::infer_size_dimvector(sizes, x.sizes());
      return at::empty(sizes, xs[0].options());
    }
    const auto same = [&](const Tensor& x) { return x.sizes() == xs[0].sizes(); };
    if (std::all_of(xs.begin(), xs.end(), same)) return sum_gradients(xs, false);
    Tensor y = xs[0];
    for (const Tensor& x : xs.slice(1)) y = at::add(y, x);
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    for (size_t i = 0; i < c.inputs(); ++i) c.grad(i, [&] { return c.gy(); });
  }
};
CG_OP("add_n", AddN, "Sum of any number of tensors, left to right, with broadcasting.")

CG_POINTWISE_UNARY(Exp, "exp", out_bit(0), at::exp(x), c.gy() * c.out(0), "e ** x")
CG_POINTWISE_UNARY(Log, "log", in_bit(0), at::log(x), c.gy() / c.in(0), "Natural logarithm.")
CG_POINTWISE_UNARY(Sqrt, "sqrt", out_bit(0), at::sqrt(x), c.gy() / (c.out(0) * 2.0), "Square root.")
CG_POINTWISE_UNARY(Rsqrt, "rsqrt", in_bit(0) | out_bit(0), at::rsqrt(x), c.gy() * (c.out(0) / c.in(0)) * -0.5,
                   "1 / sqrt(x)")
CG_POINTWISE_UNARY(Square, "square", in_bit(0), few::square(x), c.gy() * (c.in(0) * 2.0), "x * x")
CG_POINTWISE_UNARY(Cbrt, "cbrt", out_bit(0), at::copysign(at::pow(at::abs(x), 1.0 / 3), x),
                   c.gy() / (square(c.out(0)) * 3), "The cube root, of negative numbers too.")
CG_POINTWISE_UNARY(Reciprocal, "reciprocal", out_bit(0), at::reciprocal(x), -(c.gy() * square(c.out(0))), "1 / x")
CG_POINTWISE_UNARY(Abs, "abs", in_bit(0), at::abs(x), c.gy() * sign(c.in(0)), "|x|; the gradient at 0 is 0.")

struct AbsOrNaN {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::abs(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused([](auto g, auto x) CG_EACH { return x > 0   ? g
                                                       : x < 0 ? -g
                                                               : g * x; },
                   [](const T& g, const T& x) {
                     return g * frozen([](const Tensor& x) { return at::where(at::isnan(x), x, at::sign(x)); }, x);
                   },
                   c.gy(), c.in(0));
    });
  }
};
CG_POINTWISE("abs_or_nan", AbsOrNaN, "|x|; the gradient at 0 is 0, that at NaN is NaN.")

CG_POINTWISE_UNARY(Sign, "sign", 0, at::sign(x), zeros_as(c.gy()), "-1, 0 or 1; its gradient is 0.")

}  // namespace

Tensor conj(const Tensor& x) { return x.is_complex() ? at::conj_physical(x) : x; }
Var conj(const Var& x) { return x.data.is_complex() ? run(Conj{}, x) : x; }

Var add(const Var& a, const Var& b) { return run(Add{}, a, b); }
Var sub(const Var& a, const Var& b) { return run(Sub{}, a, b); }
Var mul(const Var& a, const Var& b) { return run(Mul{}, a, b); }
Var div(const Var& a, const Var& b) { return run(Div{}, a, b); }
Var neg(const Var& x) { return run(Neg{}, x); }
Var add_scalar(const Var& x, const c10::Scalar& s) { return run(AddScalar{s}, x); }
Var mul_scalar(const Var& x, const c10::Scalar& s) { return run(MulScalar{s}, x); }
Var rsub_scalar(const Var& x, const c10::Scalar& s) { return run(RSubScalar{s}, x); }
Var rdiv_scalar(const Var& x, const c10::Scalar& s) { return run(RDivScalar{s}, x); }
Var pow(const Var& x, const c10::Scalar& s) { return run(PowScalar{s}, x); }
Var add_n(VarsRef xs) { return run_list(AddN{}, xs); }
Var exp(const Var& x) { return run(Exp{}, x); }
Var log(const Var& x) { return run(Log{}, x); }
Var sqrt(const Var& x) { return run(Sqrt{}, x); }
Var rsqrt(const Var& x) { return run(Rsqrt{}, x); }
Var square(const Var& x) { return run(Square{}, x); }
Var reciprocal(const Var& x) { return run(Reciprocal{}, x); }
Var abs(const Var& x) { return run(Abs{}, x); }
Var sign(const Var& x) { return run(Sign{}, x); }

Tensor sum_gradients(c10::ArrayRef<Tensor> gs, bool into_first) {
  const at::ScalarType dtype = gs[0].scalar_type();
  if (is_wide_unsigned(dtype)) {
    Tensor y = gs[0].to(at::kLong);
    for (const Tensor& g : gs.slice(1)) y.add_(g.to(at::kLong));
    return y.to(dtype);
  }
  if (gs.size() == 1) return at::alias(gs[0]);
  if (Tensor y = kernels::sum(gs, into_first); y.defined()) return y;
  Tensor y = into_first ? gs[0] : few::add(gs[0], gs[1]);
  for (size_t i = into_first ? 1 : 2; i < gs.size(); ++i) y.add_(gs[i]);
  return y;
}

bool may_overwrite(const Tensor& g) {
  return g.use_count() == 1 && g.storage().use_count() == 1 && g.is_non_overlapping_and_dense() && in_own_memory(g);
}
bool in_own_memory(const Tensor& t) {
  return t.storage().data_ptr().get_deleter() == c10::GetAllocator(t.device().type())->raw_deleter();
}

bool has_nan(const Tensor& t) { return at::isFloatingType(t.scalar_type()) && at::isnan(t).any().item<bool>(); }

}  // namespace cg
