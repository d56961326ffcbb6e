// Exponentials, logarithms and powers beyond exp, log and powers of a scalar (arith.cpp).
#include <ATen/ops/exp2.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/logaddexp.h>

#include <numbers>

#include "ops/functions.h"

namespace cg {
namespace {

struct Expm1 {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return at::expm1(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (c.out(0) + 1); });
  }
};
CG_POINTWISE("expm1", Expm1, "exp(x) - 1, exact also near 0.")

struct Exp2 {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return at::exp2(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (c.out(0) * std::numbers::ln2); });
  }
};
CG_POINTWISE("exp2", Exp2, "2 ** x")

struct Log1p {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::log1p(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() / (c.in(0) + 1); });
  }
};
CG_POINTWISE("log1p", Log1p, "log(1 + x), exact also near 0.")

struct Log2 {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::log2(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() / (c.in(0) * std::numbers::ln2); });
  }
};
CG_POINTWISE("log2", Log2, "Logarithm to the base 2.")

struct Log10 {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::log10(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() / (c.in(0) * std::numbers::ln10); });
  }
};
CG_POINTWISE("log10", Log10, "Logarithm to the base 10.")

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
