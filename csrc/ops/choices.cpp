// Selection between elements, and rounding: piecewise linear functions, whose derivative is a mask.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/round.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "core/deferred.h"
#include "kernels/select.h"
#include "ops/slopes.h"
#include "ops/unary.h"

namespace cg {
namespace {

// Where `first` is true the gradient goes to input i, elsewhere to input i + 1; the other input gets 0, even if the
// gradient is not finite.
template <class T, class M>
void choose(Ctx<T>& c, size_t i, const M& first) {
  const auto part = [&](bool where_first) -> T {
    T zeros;
    if constexpr (std::is_same_v<T, Tensor>) {
      if (Tensor g = kernels::selected(first, where_first ? c.gy() : Tensor(), where_first ? Tensor() : c.gy());
          g.defined())
        return g;
      zeros = at::zeros({}, c.gy().options());
    } else {
      zeros = zeros_as(c.gy());
    }
    return where_first ? where(T(first), c.gy(), zeros) : where(T(first), zeros, c.gy());
  };
  c.grad(i, [&] { return part(true); });
  c.grad(i + 1, [&] { return part(false); });
}
// As `choose`, but multiplies the gradient by 0 or 1, so that NaN and infinity reach both inputs.
template <class T, class M>
void share(Ctx<T>& c, size_t i, const M& first) {
  const T g = c.gy() * first;
  c.grad(i, [&] { return g; });
  c.grad(i + 1, [&] { return c.gy() - g; });
}

template <bool max, bool product>
struct Extremum {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& a, const Tensor& b) { return max ? at::maximum(a, b) : at::minimum(a, b); }
  static Tensor first(const Tensor& a, const Tensor& b) { return max ? a >= b : a <= b; }
  template <class T>
  void backward(Ctx<T>& c) {
    const auto taken = frozen(first, c.in(0), c.in(1));
    if constexpr (product)
      share(c, 0, taken);
    else
      choose(c, 0, taken);
  }
};
using Maximum = Extremum<true, false>;
CG_POINTWISE("maximum", Maximum, "The larger of a and b; where they are equal, a gets the gradient.")
using Minimum = Extremum<false, true>;
CG_POINTWISE("minimum", Minimum, "The smaller of a and b; where they are equal, a gets the gradient.")
using MaximumProduct = Extremum<true, true>;
CG_POINTWISE("maximum_product", MaximumProduct, "As maximum, but a gradient that is not finite reaches both inputs.")

struct Where {
  static constexpr Mask saves = in_bit(0);
  static constexpr bool any_dtype = true;
  Tensor infer(const Tensor& condition, const Tensor& a, const Tensor& b) const {
    const auto sizes = at::infer_size_dimvector(condition.sizes(), at::infer_size_dimvector(a.sizes(), b.sizes()));
    return hollow(sizes, c10::promoteTypes(a.scalar_type(), b.scalar_type()), a.device());
  }
  Tensor forward(const Tensor& condition, const Tensor& a, const Tensor& b) {
    if (a.scalar_type() == b.scalar_type())
      if (Tensor y = kernels::selected(condition, a, b); y.defined()) return y;
    return at::where(condition.to(at::kBool), a, b);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    choose(c, 1, frozen([](const Tensor& t) { return t.to(at::kBool); }, c.in(0)));
  }
};
CG_OP("where", Where, "a where condition is not zero, else b.")

// gy where lower < x < upper, else 0.
struct HardTanhGrad {
  double lower = -1, upper = 1;
  static constexpr auto params() {
    return std::make_tuple(required("lower", &HardTanhGrad::lower), required("upper", &HardTanhGrad::upper));
  }
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& x) { return band_slope(gy, x, lower, upper); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(HardTanhGrad{*this}, c.gy(), c.in(1)); });
  }
};
CG_OP("hardtanh_grad", HardTanhGrad, "gy where lower < x < upper, else 0; constant in x.")

// The number next to `bound` in the kernel's dtype, so that `x > before(bound)` means `x >= bound`.
double before(double bound, bool downward, at::ScalarType dtype) {
  const double limit = downward ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (dtype == at::kDouble) return std::nextafter(bound, limit);
  if (dtype == at::kHalf) bound = static_cast<float>(c10::Half(static_cast<float>(bound)));
  if (dtype == at::kBFloat16) bound = static_cast<float>(c10::BFloat16(static_cast<float>(bound)));
  return std::nextafter(static_cast<float>(bound), static_cast<float>(limit));
}

// gy where lower < x < upper, else 0. `product`: computed by a product with 0, so that NaN and infinity give NaN.
template <class T>
T between(const Ctx<T>& c, double lower, double upper, bool product) {
  T g = run(HardTanhGrad{lower, upper}, c.gy(), c.in(0));
  if (!product) return g;
  if constexpr (std::is_same_v<T, Tensor>)
    return g.add_(c.gy(), 0);
  else
    return g + c.gy() * 0.0;
}

struct Clip {
  std::optional<double> min, max;
  bool product = true;
  static constexpr auto params() {
    return std::make_tuple(param("min", &Clip::min), param("max", &Clip::max), param("product", &Clip::product));
  }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    using Bound = std::optional<at::Scalar>;
    return at::clamp(x, min ? Bound(*min) : Bound(), max ? Bound(*max) : Bound());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    c.grad(0, [&] {
      const auto dtype = c.in_dtype(0);
      return between(c, before(min.value_or(-inf), true, dtype), before(max.value_or(inf), false, dtype), product);
    });
  }
};
CG_POINTWISE("clip", Clip,
             "x limited to [min, max]; the gradient on a limit is 1. product: beyond the limits the gradient is "
             "multiplied by 0.")

struct ClippedReLU {
  double z = 20;
  bool product = true;
  static constexpr auto params() {
    return std::make_tuple(param("z", &ClippedReLU::z), param("product", &ClippedReLU::product));
  }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) { return at::clamp(x, 0, z); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return between(c, 0.0, z, product); });
  }
};
CG_POINTWISE("clipped_relu", ClippedReLU, "min(max(x, 0), z); the gradient at 0 and at z is 0. product: as in clip.")

CG_POINTWISE_UNARY_WITH(HardSigmoid, "hard_sigmoid", param, bool, product, true, in_bit(0),
                        at::mul(x, 0.2).add_(0.5).clamp_(0, 1), between(c, -2.5, 2.5, product) * 0.2,
                        "0.2 * x + 0.5, limited to [0, 1]. product: as in clip.")

// Rounding has the gradient 0.
template <Tensor (*F)(const Tensor&)>
struct Round {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return F(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return zeros_as(c.gy()); });
  }
};
using Floor = Round<at::floor>;
CG_POINTWISE("floor", Floor, "Largest integer <= x; its gradient is 0.")
using Ceil = Round<at::ceil>;
CG_POINTWISE("ceil", Ceil, "Smallest integer >= x; its gradient is 0.")
using Fix = Round<at::trunc>;
CG_POINTWISE("fix", Fix, "x rounded towards 0; its gradient is 0.")
using Rint = Round<at::round>;
CG_POINTWISE("rint", Rint, "x rounded to the nearest integer, halves to the even one; its gradient is 0.")

struct Fmod {
  Mask saves_for(c10::ArrayRef<bool> needs) const { return needs[1] ? in_bit(0) | in_bit(1) : 0; }
  Tensor forward(const Tensor& a, const Tensor& b) { return at::fmod(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] {
      return c.gy() *
             frozen([](const Tensor& a, const Tensor& b) { return at::trunc(a / b).neg_(); }, c.in(0), c.in(1));
    });
  }
};
CG_POINTWISE("fmod", Fmod, "Remainder of a / b with the sign of a.")

}  // namespace

Var where(const Var& c, const Var& a, const Var& b) { return run(Where{}, c, a, b); }
Var hardtanh_backward(const Var& gy, const Var& x, double lower, double upper) {
  return run(HardTanhGrad{lower, upper}, gy, x);
}

}  // namespace cg
