// Element-wise functions with a kink, where nnabla uses the derivative of one side, while other ops use that of the
// other side, or 0; and activations of nnabla.
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>

#include "ops/one_loop.h"
#include "ops/unary.h"

namespace cg {
namespace {

// gy where `inside`, else 0, even if gy is not finite.
template <class T>
T only(const T& gy, const T& inside) {
  return where(inside, gy, zeros_as(gy));
}

struct AbsRight {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::abs(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused(
          [](auto g, auto x) CG_EACH { return x < 0 ? -g : g; },
          [](const T& g, const T& x) { return where(frozen([](const Tensor& x) { return x < 0; }, x), -g, g); }, c.gy(),
          c.in(0));
    });
  }
};
CG_POINTWISE("abs_right", AbsRight, "|x|; the gradient at 0 is 1.")

// The selected input gets the gradient, the other one the gradient times 0.
template <bool max>
struct Choose {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  static Tensor first(const Tensor& a, const Tensor& b) { return max ? at::gt(a, b) : at::lt(a, b); }
  Tensor forward(const Tensor& a, const Tensor& b) {
    return fused([](auto a, auto b) CG_EACH { return (max ? a > b : a < b) ? a : b; },
                 [](const Tensor& a, const Tensor& b) { return at::where(first(a, b), a, b); }, a, b);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused([](auto g, auto a, auto b) CG_EACH { return (max ? a > b : a < b) ? g : g * 0; },
                   [](const T& g, const T& a, const T& b) { return g * frozen(first, a, b); }, c.gy(), c.in(0),
                   c.in(1));
    });
    c.grad(1, [&] {
      return fused([](auto g, auto a, auto b) CG_EACH { return (max ? a > b : a < b) ? g * 0 : g; },
                   [](const T& g, const T& a, const T& b) { return g - g * frozen(first, a, b); }, c.gy(), c.in(0),
                   c.in(1));
    });
  }
};
using MaximumLast = Choose<true>;
CG_POINTWISE("maximum_last", MaximumLast, "a where a > b, else b, which then gets the gradient.")
using MinimumLast = Choose<false>;
CG_POINTWISE("minimum_last", MinimumLast, "a where a < b, else b, which then gets the gradient.")

template <bool max>
struct Limit {
  double value = 0;
  bool product = false;
  static constexpr auto params() {
    return std::make_tuple(required("value", &Limit::value), param("product", &Limit::product));
  }
  static constexpr Mask saves = in_bit(0);
  static Tensor taken(const Tensor& x, double bound) { return max ? at::gt(x, bound) : at::lt(x, bound); }
  Tensor forward(const Tensor& x) {
    const auto each = [bound = value](auto x) CG_EACH {
      const auto b = static_cast<decltype(x)>(bound);
      return (max ? x > b : x < b) ? x : b;
    };
    return fused(
        each, [&](const Tensor& x) { return at::where(taken(x, value), x, c10::Scalar(value)).to(x.scalar_type()); },
        x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return product ? multiplied(c.gy(), c.in(0)) : chosen(c.gy(), c.in(0)); });
  }

 private:
  template <class T>
  T multiplied(const T& g, const T& x) const {
    return fused(
        [bound = value](auto g, auto x) CG_EACH {
          const auto b = static_cast<decltype(x)>(bound);
          return (max ? x > b : x < b) ? g : g * 0;
        },
        [this](const T& g, const T& x) { return g * mask(x); }, g, x);
  }
  template <class T>
  T chosen(const T& g, const T& x) const {
    return fused(
        [bound = value](auto g, auto x) CG_EACH {
          const auto b = static_cast<decltype(x)>(bound);
          return (max ? x > b : x < b) ? g : 0;
        },
        [this](const T& g, const T& x) { return where(T(mask(x)), g, zeros_as(g)); }, g, x);
  }
  template <class T>
  auto mask(const T& x) const {
    return frozen([bound = value](const Tensor& x) { return taken(x, bound); }, x);
  }
};
using MaximumScalar = Limit<true>;
CG_POINTWISE("maximum_scalar", MaximumScalar,
             "x where x > value, else value; the gradient is 0 unless x > value. product: there the gradient is "
             "multiplied by 0.")
using MinimumScalar = Limit<false>;
CG_POINTWISE("minimum_scalar", MinimumScalar,
             "x where x < value, else value; the gradient is 0 unless x < value. product: there the gradient is "
             "multiplied by 0.")

// Replaces some elements by a number; they get no gradient.
template <Tensor (*Bad)(const Tensor&)>
struct Reset {
  double value = 0;
  static constexpr auto params() { return std::make_tuple(param("value", &Reset::value)); }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::where(Bad(x), c10::Scalar(value), x).to(x.scalar_type()); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return only(c.gy(), frozen([](const Tensor& x) { return at::logical_not(Bad(x)); }, c.in(0))); });
  }
};
using ResetNaN = Reset<at::isnan>;
CG_POINTWISE("reset_nan", ResetNaN, "value where x is NaN, else x; the gradient is 0 where x is NaN.")
using ResetInf = Reset<at::isinf>;
CG_POINTWISE("reset_inf", ResetInf, "value where x is infinite, else x; the gradient is 0 where x is infinite.")

struct HardSigmoidClosed {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::mul(x, 0.2).add_(0.5).clamp_(0, 1); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused([](auto g, auto x) CG_EACH { return x >= -2.5f && x <= 2.5f ? g * decltype(g)(0.2) : 0; },
                   [](const T& g, const T& x) {
                     return only(g * 0.2, frozen([](const Tensor& x) { return at::abs(x) <= 2.5; }, x));
                   },
                   c.gy(), c.in(0));
    });
  }
};
CG_POINTWISE("hard_sigmoid_closed", HardSigmoidClosed,
             "0.2 * x + 0.5, limited to [0, 1]; the gradient on a limit is 0.2.")

struct EluRight {
  double alpha = 1;
  static constexpr auto params() { return std::make_tuple(param("alpha", &EluRight::alpha)); }
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& x) { return at::elu(x, alpha); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused([k = alpha](auto g, auto x, auto y) CG_EACH { return x >= 0 ? g : g * (y + decltype(y)(k)); },
                   [k = alpha](const T& g, const T& x, const T& y) {
                     return where(frozen([](const Tensor& x) { return x >= 0; }, x), g, g * (y + k));
                   },
                   c.gy(), c.in(0), c.out(0));
    });
  }
};
CG_POINTWISE("elu_right", EluRight, "x where x >= 0, else alpha * (exp(x) - 1); the gradient at 0 is 1.")

CG_POINTWISE_UNARY(TanhShrink, "tanh_shrink", in_bit(0), x - at::tanh(x), c.gy() * square(tanh(c.in(0))), "x - tanh(x)")

// With s = sigmoid(x) and q = (1 - s) ** 2, tanh(log(1 + exp(x))) is (1 - q) /
// (1 + q): nothing overflows.
struct Mish {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::mish(x); }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] { return at::mish_backward(c.gy(), c.in(0)); });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] {
      const Var x = c.in(0), s = sigmoid(x), rest = sigmoid(-x), q = square(rest), more = q + 1.0;
      return c.gy() * (s * (rest + 1.0) / more + x * s * q * 4.0 / square(more));
    });
  }
};
CG_POINTWISE("mish", Mish, "x * tanh(log(1 + exp(x)))")

Var sinc_derivative(const Var& x, int64_t order);
// The derivative of sin(x) / x of a given order, computed in float64: near 0 by its power series with the terms
// (-1) ** (m / 2) x ** (m - order) / ((m - order)! (m + 1)) for even m; elsewhere by x f[n] = sin[n](x) - n f[n - 1],
// where sin[n] is the n-th derivative of the sine.
double sinc_derivative_of(double x, int64_t order) {
  if (!(std::abs(x) < 2.0 + static_cast<double>(order))) {  // NaN too
    const double waves[] = {std::sin(x), std::cos(x)};
    double f = waves[0] / x;
    for (int64_t n = 1; n <= order; ++n) f = (waves[n % 2] * (n % 4 < 2 ? 1 : -1) - f * static_cast<double>(n)) / x;
    return f;
  }
  double sum = 0, power = 1;  // power: x ** k / k!
  for (int64_t k = 0; k < 40 + 2 * order && std::abs(power) > 1e-18; power *= x / static_cast<double>(++k))
    if ((k + order) % 2 == 0) sum += power * ((k + order) / 2 % 2 ? -1.0 : 1.0) / static_cast<double>(k + order + 1);
  return sum;
}
Tensor sinc_derivative(const Tensor& x_, int64_t order) {
  const Tensor y =
      kernels::map([order](auto x) CG_EACH { return static_cast<decltype(x)>(sinc_derivative_of(x, order)); }, x_);
  if (y.defined()) return y;
  const Tensor x = x_.to(at::kDouble);
  const double near = 2 + static_cast<double>(order);
  const Tensor small = at::abs(x) < near;
  const Tensor t = at::where(small, x, c10::Scalar(0.0)), large = at::where(small, c10::Scalar(near), x);
  Tensor series = at::zeros_like(x),
         power = at::zeros_like(x) + 1;  // power: x ** k / k!
  for (int64_t k = 0; k < 40 + 2 * order; ++k) {
    const int64_t m = k + order;
    if (m % 2 == 0) series = series + power * ((m / 2 % 2 ? -1.0 : 1.0) / static_cast<double>(m + 1));
    power = power * t / static_cast<double>(k + 1);
  }
  const Tensor waves[] = {at::sin(large), at::cos(large)};
  Tensor f = waves[0] / large;
  for (int64_t n = 1; n <= order; ++n) f = (waves[n % 2] * (n % 4 < 2 ? 1 : -1) - f * n) / large;
  return at::where(small, series, f).to(x_.scalar_type());
}

struct Sinc {
  static constexpr bool real = true;
  int64_t order = 0;
  static constexpr auto params() { return std::make_tuple(param("order", &Sinc::order)); }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return sinc_derivative(x, order); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * sinc_derivative(c.in(0), order + 1); });
  }
};
CG_POINTWISE("sinc", Sinc, "sin(x) / x, 1 at 0; or its derivative of a given order.")

Var sinc_derivative(const Var& x, int64_t order) { return run(Sinc{order}, x); }

}  // namespace
}  // namespace cg
