// The gamma function, its logarithm and the derivatives of the logarithm.
#include <ATen/ops/digamma.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/lgamma.h>
#include <ATen/ops/polygamma.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/special_zeta.h>

#include <limits>
#include <numbers>

#include "ops/half.h"
#include "ops/unary.h"

namespace cg {
namespace {

Tensor poles(const Tensor& x) { return (x <= 0).logical_and_(x == at::floor(x)); }

// The n-th derivative of digamma. At the poles (0 and the negative integers) ATen's values depend on n; MXNet's are
// +inf.
template <bool infinite>
Tensor psi(int64_t n, const Tensor& x) {
  return at_least_float(x, [&](const Tensor& t) {
    const Tensor y = n == 0   ? at::digamma(t)
                     : n == 1 ? at::special_zeta(2, t)  // ATen's trigamma has only ten digits
                              : at::polygamma(n, t);
    return infinite ? y.masked_fill(poles(t), std::numeric_limits<double>::infinity()) : y;
  });
}
template <bool infinite>
Var psi(int64_t n, const Var& x);

template <bool infinite>
struct PolyGamma {
  int64_t n = 0;
  static constexpr auto params() { return std::make_tuple(required("n", &PolyGamma::n)); }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return psi<infinite>(n, x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * psi<infinite>(n + 1, c.in(0)); });
  }
};
using PolyGammaOfATen = PolyGamma<false>;
CG_OP("polygamma", PolyGammaOfATen, "n-th derivative of digamma.")
using PolyGammaInfinite = PolyGamma<true>;
CG_OP("polygamma_infinite", PolyGammaInfinite, "n-th derivative of digamma; +inf at the poles.")

template <bool infinite>
Var psi(int64_t n, const Var& x) {
  return run(PolyGamma<infinite>{n}, x);
}

CG_UNARY(Digamma, "digamma", in_bit(0), psi<false>(0, x), c.gy() * psi<false>(1, c.in(0)), "Derivative of lgamma.")

template <bool infinite>
struct LogGamma {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return at_least_float(x, [](const Tensor& t) { return at::lgamma(t); });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * psi<infinite>(0, c.in(0)); });
  }
};
using LogGammaOfATen = LogGamma<false>;
CG_OP("lgamma", LogGammaOfATen, "log(|gamma(x)|)")
using LogGammaInfinite = LogGamma<true>;
CG_OP("lgamma_infinite", LogGammaInfinite, "log(|gamma(x)|); its derivative is +inf at the poles.")

// Uses the reflection formula below 1/2, because lgamma does not give the sign.
Tensor gamma(const Tensor& given) {
  const Tensor x = given.to(at::kDouble);
  const Tensor low = x < 0.5, nearest = at::round(x);
  const Tensor upper = at::exp(at::lgamma(at::where(low, 1 - x, x)));
  const Tensor odd = at::remainder(nearest, 2), sine = at::sin((x - nearest) * std::numbers::pi) * (1 - 2 * odd);
  Tensor y = at::where(low, std::numbers::pi / (sine * upper), upper);
  y.masked_fill_(poles(x), std::numeric_limits<double>::quiet_NaN());
  return at::where(x == 0, 1 / x, y).to(given.scalar_type());
}

CG_UNARY(Gamma, "gamma", in_bit(0) | out_bit(0), gamma(x), c.gy() * (c.out(0) * psi<true>(0, c.in(0))),
         "The gamma function; NaN at its poles, except at 0, where it is infinite.")

}  // namespace
}  // namespace cg
