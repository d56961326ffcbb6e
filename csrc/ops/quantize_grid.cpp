// Quantization to fixed grids: multiples of a step, and powers of two. The gradients are straight-through: 1 within the
// range of the grid; beyond it also 1, or 0 with `ste_fine_grained`.
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/lt.h>

#include "ops/rounding.h"

namespace cg {
namespace {

struct FixedPointQuantize {
  bool sign = true;
  int64_t n = 8;
  double delta = 0.0625;
  bool ste_fine_grained = true;
  static constexpr auto params() {
    return std::make_tuple(param("sign", &FixedPointQuantize::sign), param("n", &FixedPointQuantize::n),
                           param("delta", &FixedPointQuantize::delta),
                           param("ste_fine_grained", &FixedPointQuantize::ste_fine_grained));
  }
  Mask saves_for(c10::ArrayRef<bool>) const { return ste_fine_grained ? in_bit(0) : 0; }
  double top() const { return (std::exp2(sign ? n - 1 : n) - 1) * delta; }
  double bottom() const { return sign ? -top() : 0; }

  Tensor forward(const Tensor& x) {
    return fused(
        [a = bottom(), b = top(), step = delta](auto x) CG_EACH {
          using E = decltype(x);
          const E inside = x < E(a) ? E(a) : x > E(b) ? E(b) : x, size = inside < 0 ? -inside : inside;
          const E y = std::floor(size / E(step) + E(0.5)) * E(step);
          return x < 0 ? -y : y;
        },
        [this](const Tensor& x) {
          const Tensor y = at::floor(at::abs(at::clamp(x, bottom(), top())) / delta + 0.5) * delta;
          return y * (1 - (x < 0).to(x.scalar_type()) * 2);
        },
        x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      if (!ste_fine_grained) return c.gy();
      return fused([a = bottom(), b = top()](auto g, auto x)
                       CG_EACH { return x >= decltype(x)(a) && x <= decltype(x)(b) ? g : 0; },
                   [a = bottom(), b = top()](const T& g, const T& x) {
                     return g * frozen([a, b](const Tensor& x) { return (x >= a).logical_and(x <= b); }, x);
                   },
                   c.gy(), c.in(0));
    });
  }
};
CG_POINTWISE("fixed_point_quantize", FixedPointQuantize,
             "x rounded to multiples of delta, halves away from 0, and limited to the range of n bits (one of them for "
             "the sign).")

struct Pow2Quantize {
  bool sign = true, with_zero = true;
  int64_t n = 8, m = 1;
  bool ste_fine_grained = true;
  static constexpr auto params() {
    return std::make_tuple(param("sign", &Pow2Quantize::sign), param("with_zero", &Pow2Quantize::with_zero),
                           param("n", &Pow2Quantize::n), param("m", &Pow2Quantize::m),
                           param("ste_fine_grained", &Pow2Quantize::ste_fine_grained));
  }
  Mask saves_for(c10::ArrayRef<bool>) const { return ste_fine_grained ? in_bit(0) : 0; }
  double top() const { return std::exp2(m); }
  double least() const { return std::exp2(static_cast<double>(m) - (std::exp2(n - sign - with_zero) - 1)); }
  // Below this number, x is rounded to 0 instead of the smallest power.
  double zero_below() const { return with_zero ? least() * std::exp2(-0.5) : 0; }
  double negative() const { return with_zero ? 0 : least(); }  // the result for a negative x, if there is no sign bit

  Tensor forward(const Tensor& x) {
    return fused(
        [a = least(), b = top(), cut = zero_below(), signs = sign, other = negative()](auto x) CG_EACH {
          using E = decltype(x);
          const E size = x < 0 ? -x : x, power = std::exp2(std::round(std::log2(size)));
          const E inside = power > E(b) ? E(b) : power < E(a) ? E(a) : power, y = size < E(cut) ? E(0) : inside;
          return x < 0 ? (signs ? -y : E(other)) : y;
        },
        [this](const Tensor& x) {
          const auto dtype = x.scalar_type();
          const Tensor size = at::abs(x), below = (x < 0).to(dtype);
          const Tensor y =
              at::clamp(at::exp2(round_away(at::log2(size))), least(), top()) * (size >= zero_below()).to(dtype);
          return sign ? y * (1 - below * 2) : y * (1 - below) + below * negative();
        },
        x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      if (!ste_fine_grained) return c.gy();
      const T inside = frozen(
          [b = top(), signs = sign](const Tensor& x) {
            const Tensor y = at::le(round_away(at::log2(at::abs(x))), std::log2(b)).to(x.scalar_type());
            return signs ? y : y * (x >= 0).to(x.scalar_type());
          },
          c.in(0));
      return c.gy() * inside;
    });
  }
};
CG_POINTWISE("pow2_quantize", Pow2Quantize,
             "x rounded, on a logarithmic scale, to powers of two up to 2 ** m, as many as n bits can represent (one "
             "bit less each for sign and with_zero).")

}  // namespace
}  // namespace cg
