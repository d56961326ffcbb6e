// The gamma function and the derivative of its logarithm as MXNet has them, which gives the latter +inf at its poles.
#include <ATen/ops/digamma.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/lgamma.h>
#include <ATen/ops/polygamma.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>

#include <limits>
#include <numbers>

#include "ops/functions.h"

namespace cg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class F>
Tensor at_least_float(const Tensor& x, F&& f) {
  const auto dtype = x.scalar_type();
  return dtype == at::kHalf || dtype == at::kBFloat16 ? f(x.to(at::kFloat)).to(dtype) : f(x);
}

Tensor poles(const Tensor& x) { return (x <= 0).logical_and_(x == at::floor(x)); }

// The n-th derivative of the logarithm's derivative.
Var psi(int64_t n, const Var& x);
Tensor psi(int64_t n, const Tensor& x) {
  return at_least_float(
      x, [&](const Tensor& t) { return (n ? at::polygamma(n, t) : at::digamma(t)).masked_fill(poles(t), kInf); });
}

struct MxPsi {
  int64_t n = 0;
  static constexpr auto params() { return std::make_tuple(param("n", &MxPsi::n)); }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return psi(n, x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * psi(n + 1, c.in(0)); });
  }
};
CG_OP("mx_psi", MxPsi, "n-th derivative of digamma; infinite at the poles.")

struct MxLGamma {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return at_least_float(x, [](const Tensor& t) { return at::lgamma(t); });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * psi(0, c.in(0)); });
  }
};
CG_OP("mx_lgamma", MxLGamma, "log(|gamma(x)|); its derivative is +inf at the poles.")

// By reflection below one half: the logarithm knows no sign.
Tensor gamma(const Tensor& given) {
  const Tensor x = given.to(at::kDouble);
  const Tensor low = x < 0.5, nearest = at::round(x);
  const Tensor upper = at::exp(at::lgamma(at::where(low, 1 - x, x)));
  const Tensor odd = at::remainder(nearest, 2), sine = at::sin((x - nearest) * std::numbers::pi) * (1 - 2 * odd);
  Tensor y = at::where(low, std::numbers::pi / (sine * upper), upper);
  y.masked_fill_(poles(x), std::numeric_limits<double>::quiet_NaN());
  return at::where(x == 0, 1 / x, y).to(given.scalar_type());
}

struct MxGamma {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& x) { return gamma(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (c.out(0) * psi(0, c.in(0))); });
  }
};
CG_OP("mx_gamma", MxGamma, "The gamma function; NaN at its poles but 0, where it is infinite.")

Var psi(int64_t n, const Var& x) { return run(MxPsi{n}, x); }

}  // namespace
}  // namespace cg
