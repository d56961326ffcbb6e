// Special functions: error, normal distribution and zeta.
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/special_erfcx.h>
#include <ATen/ops/special_log_ndtr.h>
#include <ATen/ops/special_ndtr.h>
#include <ATen/ops/special_ndtri.h>
#include <ATen/ops/special_zeta.h>

#include <numbers>

#include "ops/functions.h"
#include "ops/half.h"

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

struct Erf {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::erf(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(-square(c.in(0))) * (2 * inv_sqrtpi)); });
  }
};
CG_POINTWISE("erf", Erf, "Error function.")

struct Erfc {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::erfc(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(-square(c.in(0))) * (-2 * inv_sqrtpi)); });
  }
};
CG_OP("erfc", Erfc, "1 - erf(x), exact also for large x.")

struct Erfcx {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& x) { return erfcx(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * ((c.in(0) * c.out(0) - inv_sqrtpi) * 2); });
  }
};
CG_OP("erfcx", Erfcx, "exp(x * x) * erfc(x)")

struct ErfInv {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) {
    return at_least_float(x, [](const Tensor& t) { return at::erfinv(t); });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(square(c.out(0))) * (kSqrtPi / 2)); });
  }
};
CG_OP("erfinv", ErfInv, "Inverse of erf.")

Tensor ndtri(const Tensor& x) {
  return at_least_float(x, [](const Tensor& t) { return at::special_ndtri(t); });
}

struct ErfcInv {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return ndtri(x * 0.5).mul_(-1 / sqrt2); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(square(c.out(0))) * (-kSqrtPi / 2)); });
  }
};
CG_OP("erfcinv", ErfcInv, "Inverse of erfc.")

struct Ndtr {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return at_least_float(x, [](const Tensor& t) { return at::special_ndtr(t); });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(square(c.in(0)) * -0.5) * (inv_sqrtpi / sqrt2)); });
  }
};
CG_OP("ndtr", Ndtr, "Distribution function of the standard normal distribution.")

struct Ndtri {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return ndtri(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (exp(square(c.out(0)) * 0.5) * (kSqrtPi * sqrt2)); });
  }
};
CG_OP("ndtri", Ndtri, "Inverse of ndtr.")

struct LogNdtr {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return at_least_float(x, [](const Tensor& t) { return at::special_log_ndtr(t); });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (sqrt2 * inv_sqrtpi) / erfcx(c.in(0) * (-1 / sqrt2)); });
  }
};
CG_OP("log_ndtr", LogNdtr, "log(ndtr(x)), exact also for large negative x.")

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
CG_OP("zeta", Zeta, "Hurwitz zeta function: the sum of (k + q) ** -s for k = 0, 1, ...; differentiated by q only.")

Var erfcx(const Var& x) { return run(Erfcx{}, x); }
Var zeta(const Var& s, const Var& q) { return run(Zeta{}, s, q); }

}  // namespace
}  // namespace cg
