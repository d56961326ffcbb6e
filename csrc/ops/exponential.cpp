// Exponentials, logarithms and powers, except exp, log and powers with a scalar (arith.cpp).
#include <ATen/ops/exp2.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/logaddexp.h>

#include <numbers>

#include "ops/unary.h"

namespace cg {
namespace {

CG_POINTWISE_UNARY(Expm1, "expm1", out_bit(0), at::expm1(x), c.gy() * (c.out(0) + 1), "exp(x) - 1, exact also near 0.")
CG_POINTWISE_UNARY(Exp2, "exp2", out_bit(0), at::exp2(x), c.gy() * (c.out(0) * std::numbers::ln2), "2 ** x")
CG_POINTWISE_UNARY(Log1p, "log1p", in_bit(0), at::log1p(x), c.gy() / (c.in(0) + 1), "log(1 + x), exact also near 0.")
CG_POINTWISE_UNARY(Log2, "log2", in_bit(0), at::log2(x), c.gy() / (c.in(0) * std::numbers::ln2),
                   "Logarithm to the base 2.")
CG_POINTWISE_UNARY(Log10, "log10", in_bit(0), at::log10(x), c.gy() / (c.in(0) * std::numbers::ln10),
                   "Logarithm to the base 10.")

struct LogAddExp {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& a, const Tensor& b) { return at::logaddexp(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    const T ga = c.gy() * sigmoid(c.in(0) - c.in(1));
    c.grad(0, [&] { return ga; });
    c.grad(1, [&] { return c.gy() - ga; });
  }
};
CG_OP("logaddexp", LogAddExp, "log(exp(a) + exp(b)) without overflow.")

struct Pow {
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(0) | in_bit(1) | (needs[1] ? out_bit(0) : 0); }
  Tensor forward(const Tensor& a, const Tensor& b) { return at::pow(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * c.in(1) * pow(c.in(0), c.in(1) - 1); });
    c.grad(1, [&] { return c.gy() * c.out(0) * log(c.in(0)); });
  }
};
CG_POINTWISE("pow", Pow, "a ** b, elementwise.")

}  // namespace

Var pow(const Var& a, const Var& b) { return run(Pow{}, a, b); }

}  // namespace cg
