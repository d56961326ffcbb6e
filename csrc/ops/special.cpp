// Special functions: error, normal distribution and zeta.
#include <ATen/ops/erfc.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/special_erfcx.h>
#include <ATen/ops/special_log_ndtr.h>
#include <ATen/ops/special_ndtr.h>
#include <ATen/ops/special_ndtri.h>
#include <ATen/ops/special_zeta.h>

#include <numbers>

#include "ops/half.h"
#include "ops/slopes.h"
#include "ops/tanh.h"
#include "ops/unary.h"

namespace cg {
namespace {

using std::numbers::inv_sqrtpi, std::numbers::sqrt2;
constexpr double kSqrtPi = 1 / inv_sqrtpi;

Var erfcx(const Var& x);
Tensor erfcx(const Tensor& x) {
  return at_least_float(x, [](const Tensor& t) { return at::special_erfcx(t); });
}
Var zeta(const Var& s, const Var& q);
Tensor zeta(const Tensor& s, const Tensor& q) {
  const Tensor order = s.to(q.scalar_type());
  return at_least_float(q, [&](const Tensor& t) { return at::special_zeta(order.to(t.scalar_type()), t); });
}

// gy times the derivative of erf; in one pass over memory, and into gy where nobody else needs that.
Tensor erf_grad(const Tensor& gy, const Tensor& x) {
  if (Tensor y = erf_slope(may_overwrite(gy) ? gy : Tensor(), gy, x); y.defined()) return y;
  return gy * (exp(-square(x)) * (2 * inv_sqrtpi));
}
Var erf_grad(const Var& gy, const Var& x) { return gy * (exp(-square(x)) * (2 * inv_sqrtpi)); }

CG_POINTWISE_UNARY(Erf, "erf", in_bit(0), fast_erf(x), erf_grad(c.gy(), c.in(0)), "Error function.")
CG_UNARY(Erfc, "erfc", in_bit(0), at::erfc(x), c.gy() * (exp(-square(c.in(0))) * (-2 * inv_sqrtpi)),
         "1 - erf(x), exact also for large x.")
CG_UNARY(Erfcx, "erfcx", in_bit(0) | out_bit(0), erfcx(x), c.gy() * ((c.in(0) * c.out(0) - inv_sqrtpi) * 2),
         "exp(x * x) * erfc(x)")
CG_UNARY(ErfInv, "erfinv", out_bit(0), at_least_float(x, [](const Tensor& t) { return at::erfinv(t); }),
         c.gy() * (exp(square(c.out(0))) * (kSqrtPi / 2)), "Inverse of erf.")

Tensor ndtri(const Tensor& x) {
  return at_least_float(x, [](const Tensor& t) { return at::special_ndtri(t); });
}

CG_UNARY(ErfcInv, "erfcinv", out_bit(0), ndtri(x * 0.5).mul_(-1 / sqrt2),
         c.gy() * (exp(square(c.out(0))) * (-kSqrtPi / 2)), "Inverse of erfc.")
CG_UNARY(Ndtr, "ndtr", in_bit(0), at_least_float(x, [](const Tensor& t) { return at::special_ndtr(t); }),
         c.gy() * (exp(square(c.in(0)) * -0.5) * (inv_sqrtpi / sqrt2)),
         "Distribution function of the standard normal distribution.")
CG_UNARY(Ndtri, "ndtri", out_bit(0), ndtri(x), c.gy() * (exp(square(c.out(0)) * 0.5) * (kSqrtPi * sqrt2)),
         "Inverse of ndtr.")
CG_UNARY(LogNdtr, "log_ndtr", in_bit(0), at_least_float(x, [](const Tensor& t) { return at::special_log_ndtr(t); }),
         c.gy() * (sqrt2 * inv_sqrtpi) / erfcx(c.in(0) * (-1 / sqrt2)),
         "log(ndtr(x)), exact also for large negative x.")

struct Zeta {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  static constexpr bool any_dtype = true;
  Tensor forward(const Tensor& s, const Tensor& q) { return zeta(s, q); }
  template <class T>
  void backward(Ctx<T>& c) {
    TORCH_CHECK_NOT_IMPLEMENTED(!c.needs(0), "zeta: the derivative with respect to s is not known in closed form");
    c.grad(1, [&] { return c.gy() * zeta(c.in(0) + 1, c.in(1)) * -c.in(0); });
  }
};
CG_OP("zeta", Zeta,
      "Hurwitz zeta function: the sum of (k + q) ** -s for k = 0, 1, ...; differentiable only with respect to q.")

Var erfcx(const Var& x) { return run(Erfcx{}, x); }
Var zeta(const Var& s, const Var& q) { return run(Zeta{}, s, q); }

}  // namespace
}  // namespace cg
