// Straight-through estimators: step functions with the gradient of a linear function.
#include <ATen/ops/abs.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardtanh_backward.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/sort.h>

#include "core/deferred.h"
#include "ops/rounding.h"

namespace cg {
namespace {

struct StraightThrough {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& value, const Tensor&) { return at::alias(value); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(1, [&] { return c.gy(); });
  }
};
CG_OP("straight_through", StraightThrough, "The value of a, with the gradient that b would have.")

struct StopGradient {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return at::alias(x); }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_POINTWISE("stop_gradient", StopGradient, "x as a constant: no gradient passes.")

// Functions with the gradient of the identity.
template <Tensor (*F)(const Tensor&)>
struct Straight {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return F(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
using SteRound = Straight<round_away>;
CG_POINTWISE("ste_round", SteRound,
             "x rounded to the nearest integer, halves away from zero; the gradient passes unchanged.")
using SteCeil = Straight<at::ceil>;
CG_POINTWISE("ste_ceil", SteCeil, "Smallest integer >= x; the gradient passes unchanged.")
using SteFloor = Straight<at::floor>;
CG_POINTWISE("ste_floor", SteFloor, "Largest integer <= x; the gradient passes unchanged.")

struct SteSign {
  double alpha = 1;
  static constexpr auto params() { return std::make_tuple(param("alpha", &SteSign::alpha)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    return fused(
        [k = alpha](auto x) CG_EACH { return x > 0   ? decltype(x)(1)
                                             : x < 0 ? decltype(x)(-1)
                                                     : decltype(x)(k); },
        [k = alpha](const Tensor& x) { return at::where(x == 0, c10::Scalar(k), at::sign(x)).to(x.scalar_type()); }, x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_POINTWISE("ste_sign", SteSign, "-1, 1, or alpha where x is 0; the gradient passes unchanged.")

// low where x <= 0, else 1; differentiated as a linear function between -1 and 1.
template <int low>
struct Binary {
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return fused([](auto x) CG_EACH { return decltype(x)(x > 0 ? 1 : low); },
                 [](const Tensor& x) { return at::gt(x, 0).to(x.scalar_type()) * (1 - low) + low; }, x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T g = hardtanh_backward(c.gy(), c.in(0), -1.0, 1.0);
      return low == 0 ? g * 0.5 : g;
    });
  }
};
using BinaryTanh = Binary<-1>;
CG_POINTWISE("binary_tanh", BinaryTanh, "1 where x > 0, else -1; the gradient is that of x between -1 and 1, else 0.")
using BinarySigmoid = Binary<0>;
CG_POINTWISE("binary_sigmoid", BinarySigmoid,
             "1 where x > 0, else 0; the gradient is that of x / 2 between -1 and 1, else 0.")

struct Prune {
  double rate = 0.9;
  static constexpr auto params() { return std::make_tuple(param("rate", &Prune::rate)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const { return hollow(x); }
  Tensor forward(const Tensor& x) {
    if (rate >= 1 || x.numel() == 0) return at::zeros_like(x);
    const Tensor size = at::abs(x);
    const auto at_rate = static_cast<int64_t>(static_cast<float>(x.numel() - 1) * static_cast<float>(rate));
    const Tensor threshold = std::get<0>(at::sort(size.reshape(-1))).select(0, at_rate);
    return at::where(at::lt(size, threshold), at::zeros_like(x), x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_OP("prune", Prune,
      "x with the fraction `rate` of its elements, those with the smallest absolute values, set to 0; the gradient "
      "passes unchanged.")

}  // namespace
}  // namespace cg
