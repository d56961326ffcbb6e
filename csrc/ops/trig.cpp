// Trigonometric and hyperbolic functions and their inverses.
#include <ATen/ops/arccos.h>
#include <ATen/ops/arccosh.h>
#include <ATen/ops/arcsin.h>
#include <ATen/ops/arcsinh.h>
#include <ATen/ops/arctan.h>
#include <ATen/ops/arctanh.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/tan.h>

#include "ops/unary.h"

namespace cg {
namespace {

CG_POINTWISE_UNARY(Sin, "sin", in_bit(0), at::sin(x), c.gy() * cos(c.in(0)), "Sine of x in radians.")
CG_POINTWISE_UNARY(Cos, "cos", in_bit(0), at::cos(x), negated(c.gy() * sin(c.in(0))), "Cosine of x in radians.")
CG_POINTWISE_UNARY(Tan, "tan", out_bit(0), at::tan(x), c.gy() * (square(c.out(0)) + 1), "Tangent of x in radians.")
CG_POINTWISE_UNARY(ArcSin, "arcsin", in_bit(0), at::arcsin(x), c.gy() * rsqrt(1 - square(c.in(0))),
                   "Inverse sine, in [-pi/2, pi/2].")
CG_POINTWISE_UNARY(ArcCos, "arccos", in_bit(0), at::arccos(x), -(c.gy() * rsqrt(1 - square(c.in(0)))),
                   "Inverse cosine, in [0, pi].")
CG_POINTWISE_UNARY(ArcTan, "arctan", in_bit(0), at::arctan(x), c.gy() / (square(c.in(0)) + 1),
                   "Inverse tangent, in [-pi/2, pi/2].")

struct ArcTan2 {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& a, const Tensor& b) { return at::atan2(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    const T a = c.in(0), b = c.in(1);
    const T g = c.gy() / (square(a) + square(b));
    c.grad(0, [&] { return g * b; });
    c.grad(1, [&] { return -(g * a); });
  }
};
CG_POINTWISE("arctan2", ArcTan2, "Angle of the point (b, a), in [-pi, pi].")

CG_POINTWISE_UNARY(Sinh, "sinh", in_bit(0), at::sinh(x), c.gy() * cosh(c.in(0)), "Hyperbolic sine.")
CG_POINTWISE_UNARY(Cosh, "cosh", in_bit(0), at::cosh(x), c.gy() * sinh(c.in(0)), "Hyperbolic cosine.")
CG_POINTWISE_UNARY(ArcSinh, "arcsinh", in_bit(0), at::arcsinh(x), c.gy() * rsqrt(square(c.in(0)) + 1),
                   "Inverse hyperbolic sine.")
CG_POINTWISE_UNARY(ArcCosh, "arccosh", in_bit(0), at::arccosh(x), c.gy() * rsqrt(square(c.in(0)) - 1),
                   "Inverse hyperbolic cosine, for x >= 1.")
CG_POINTWISE_UNARY(ArcTanh, "arctanh", in_bit(0), at::arctanh(x), c.gy() / (1 - square(c.in(0))),
                   "Inverse hyperbolic tangent, for |x| < 1.")

}  // namespace

Var sin(const Var& x) { return run(Sin{}, x); }
Var cos(const Var& x) { return run(Cos{}, x); }
Var sinh(const Var& x) { return run(Sinh{}, x); }
Var cosh(const Var& x) { return run(Cosh{}, x); }

}  // namespace cg
