// Trigonometric and hyperbolic functions and their inverses.
#include <ATen/ops/arccos.h>
#include <ATen/ops/arccosh.h>
#include <ATen/ops/arcsin.h>
#include <ATen/ops/arcsinh.h>
#include <ATen/ops/arctan.h>
#include <ATen/ops/arctanh.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/tan.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct Sin {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::sin(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * cos(c.in(0)); });
  }
};
CG_POINTWISE("sin", Sin, "Sine of x in radians.")

struct Cos {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::cos(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return negated(c.gy() * sin(c.in(0))); });
  }
};
CG_POINTWISE("cos", Cos, "Cosine of x in radians.")

struct Tan {
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return at::tan(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * (square(c.out(0)) + 1); });
  }
};
CG_POINTWISE("tan", Tan, "Tangent of x in radians.")

struct ArcSin {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arcsin(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * rsqrt(1 - square(c.in(0))); });
  }
};
CG_POINTWISE("arcsin", ArcSin, "Inverse sine, in [-pi/2, pi/2].")

struct ArcCos {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arccos(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return -(c.gy() * rsqrt(1 - square(c.in(0)))); });
  }
};
CG_POINTWISE("arccos", ArcCos, "Inverse cosine, in [0, pi].")

struct ArcTan {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arctan(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() / (square(c.in(0)) + 1); });
  }
};
CG_POINTWISE("arctan", ArcTan, "Inverse tangent, in [-pi/2, pi/2].")

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

struct Sinh {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::sinh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * cosh(c.in(0)); });
  }
};
CG_POINTWISE("sinh", Sinh, "Hyperbolic sine.")

struct Cosh {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::cosh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * sinh(c.in(0)); });
  }
};
CG_POINTWISE("cosh", Cosh, "Hyperbolic cosine.")

struct ArcSinh {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arcsinh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * rsqrt(square(c.in(0)) + 1); });
  }
};
CG_POINTWISE("arcsinh", ArcSinh, "Inverse hyperbolic sine.")

struct ArcCosh {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arccosh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * rsqrt(square(c.in(0)) - 1); });
  }
};
CG_POINTWISE("arccosh", ArcCosh, "Inverse hyperbolic cosine, for x >= 1.")

struct ArcTanh {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::arctanh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() / (1 - square(c.in(0))); });
  }
};
CG_POINTWISE("arctanh", ArcTanh, "Inverse hyperbolic tangent, for |x| < 1.")

}  // namespace

Var sin(const Var& x) { return run(Sin{}, x); }
Var cos(const Var& x) { return run(Cos{}, x); }
Var sinh(const Var& x) { return run(Sinh{}, x); }
Var cosh(const Var& x) { return run(Cosh{}, x); }

}  // namespace cg
