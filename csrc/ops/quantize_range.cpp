// Quantization whose range is stored in its inputs, and integer arithmetic.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/where.h>

#include <limits>

#include "core/deferred.h"
#include "ops/rounding.h"

namespace cg {
namespace {

struct MinMaxQuantize {
  double decay = 0.999;
  bool x_min_max = false, ema = false, ste_fine_grained = true;
  double eps = 0.01;
  bool update = true;
  static constexpr auto params() {
    return std::make_tuple(param("decay", &MinMaxQuantize::decay), param("x_min_max", &MinMaxQuantize::x_min_max),
                           param("ema", &MinMaxQuantize::ema),
                           param("ste_fine_grained", &MinMaxQuantize::ste_fine_grained),
                           param("eps", &MinMaxQuantize::eps), param("update", &MinMaxQuantize::update));
  }
  static constexpr Mask saves = in_bit(0);
  Tensor low, high;  // the range, adjusted to the grid of levels
  static constexpr auto stored() {
    return std::make_tuple(param("low", &MinMaxQuantize::low), param("high", &MinMaxQuantize::high));
  }

  // The extremes of x over the axes along which the range has length 1; with `ema` a moving average.
  Tensor range(const Tensor& extreme, const Tensor& old) const {
    return ema ? old * decay + extreme * (1 - decay) : extreme;
  }
  Tensor infer(const Tensor& x, const Tensor& min, const Tensor& max, const Tensor& level_min,
               const Tensor& level_max) {
    for (const Tensor* t : {&max, &level_min, &level_max})
      if (t->sizes() != min.sizes()) return {};
    if (min.dim() != x.dim() || x.numel() == 0 || !at::is_expandable_to(min.sizes(), x.sizes())) return {};
    low = high = hollow(min);
    return hollow(x);
  }
  Tensor forward(const Tensor& x, const Tensor& min_, const Tensor& max_, const Tensor& level_min,
                 const Tensor& level_max) {
    Tensor min = min_, max = max_;
    if (x_min_max && update) {
      Ints axes;
      for (int64_t i = 0; i < min.dim(); ++i)
        if (min.size(i) == 1) axes.push_back(i);
      min = range(at::amin(x, axes, true), min_);
      max = range(at::amax(x, axes, true), max_);
    }
    max = at::where(max - min < eps, min + eps, max);
    if (update) {
      min_.copy_(min);
      max_.copy_(max);
    }
    const Tensor scale = (max - min) / (level_max - level_min);
    const Tensor zero = level_min - min / scale;
    const Tensor level =
        at::where(zero <= level_min, level_min, at::where(zero >= level_max, level_max, round_away(zero)));
    low = (level_min - level) * scale;
    high = (level_max - level) * scale;
    const Tensor inside = at::minimum(at::maximum(x, low), high);
    return round_away((inside - low) / scale) * scale + low;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T x = c.in(0), bottom = c.saved(low), top = c.saved(high);
    c.grad(0, [&] {
      const auto inside = [](const Tensor& x, const Tensor& a, const Tensor& b) {
        return (x >= a).logical_and(x <= b);
      };
      return ste_fine_grained ? c.gy() * frozen(inside, x, bottom, top) : c.gy();
    });
    if (x_min_max || ema) return;
    c.grad(1, [&] { return c.gy() * frozen([](const Tensor& x, const Tensor& a) { return x < a; }, x, bottom); });
    c.grad(2, [&] { return c.gy() * frozen([](const Tensor& x, const Tensor& b) { return x > b; }, x, top); });
  }
};
CG_OP("min_max_quantize", MinMaxQuantize,
      "x rounded to a grid with the levels level_min to level_max, which spans [min, max]. update: min and max, inputs "
      "1 and 2, are overwritten by the range that was used. The gradient of x is 1; with ste_fine_grained it is 0 "
      "outside the range.")

struct Mod {
  static constexpr bool any_dtype = true;
  Mask saves_for(c10::ArrayRef<bool> needs) const { return needs[1] ? in_bit(0) | in_bit(1) : 0; }
  bool fmod = false;
  static constexpr auto params() { return std::make_tuple(param("fmod", &Mod::fmod)); }
  Tensor forward(const Tensor& a, const Tensor& b) {
    const Tensor d = b.to(a.scalar_type());
    return fmod || at::isFloatingType(a.scalar_type()) ? at::fmod(a, d) : at::remainder(a, d);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] {
      return c.gy() * frozen([](const Tensor& a, const Tensor& b) { return -at::trunc(a / b); }, c.in(0), c.in(1));
    });
  }
};
CG_POINTWISE(
    "mod", Mod,
    "Remainder of a / b, in the dtype of a; with the sign of a if a is a float or fmod is set, else with that of b.")

// Shifts by the number of bits or more give 0; in C++ they are undefined.
struct BitShift {
  std::string direction = "LEFT";
  static constexpr auto params() { return std::make_tuple(param("direction", &BitShift::direction)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x, const Tensor& shift_) {
    const at::ScalarType t = x.scalar_type();
    const bool is_unsigned = t == at::kByte || t == at::kUInt16 || t == at::kUInt32 || t == at::kUInt64;
    TORCH_CHECK(is_unsigned, "bit_shift: x must be of an unsigned integer dtype, not ", t);
    const int64_t bits = static_cast<int64_t>(c10::elementSize(t)) * 8;
    const Tensor wide = x.to(at::kLong), shift = shift_.to(at::kLong);
    const Tensor valid = at::logical_and(shift >= 0, shift < bits), by = at::where(valid, shift, c10::Scalar(0));
    Tensor y;
    if (direction == "LEFT") {
      y = at::bitwise_left_shift(wide, by);
    } else if (bits < 64) {
      y = at::bitwise_right_shift(wide, by);
    } else {  // the sign bit is an ordinary bit
      const Tensor half = at::bitwise_right_shift(wide, 1).bitwise_and(std::numeric_limits<int64_t>::max());
      y = at::where(by == 0, wide, at::bitwise_right_shift(half, at::clamp_min(by - 1, 0)));
    }
    return at::where(valid, y, c10::Scalar(0)).to(t);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_POINTWISE("bit_shift", BitShift,
             "x with its bits moved by shift places to the LEFT or RIGHT; unsigned integers, no gradient.")

}  // namespace
}  // namespace cg
