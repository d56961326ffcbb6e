// Dropout.
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>

#include "ops/functions.h"

namespace cg {
namespace {

// The stored mask may be boolean, which takes a quarter of the memory, or have x's dtype.
struct DropoutMask {
  Tensor mask;
  double scale = 1;
  static constexpr auto params() {
    return std::make_tuple(required("mask", &DropoutMask::mask), param("scale", &DropoutMask::scale));
  }
  static constexpr auto stored() { return std::make_tuple(param("mask", &DropoutMask::mask)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    if (mask.scalar_type() == at::kBool) return at::native_dropout_backward(x, mask, scale);
    const Tensor y = at::mul(x, mask.to(x.scalar_type()));
    return scale == 1 ? y : y * scale;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(DropoutMask{mask, scale}, c.gy()); });
  }
};
CG_OP("dropout_mask", DropoutMask, "x * mask * scale; the mask is a parameter, of booleans or numbers.")

// Dropout with a mask that is an input, because it is known only when the graph runs.
struct DropoutApply {
  double scale = 1;
  static constexpr auto params() { return std::make_tuple(param("scale", &DropoutApply::scale)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& mask) { return DropoutMask{mask, scale}.forward(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(DropoutApply{scale}, c.gy(), c.in(1)); });
  }
};
CG_OP("dropout_apply", DropoutApply, "x * mask * scale; the mask is an input, of booleans or numbers.")

struct Dropout {
  double ratio = 0.5;
  static constexpr auto params() { return std::make_tuple(param("ratio", &Dropout::ratio)); }
  static constexpr Mask saves = 0;
  Tensor mask;
  static constexpr auto stored() { return std::make_tuple(param("mask", &Dropout::mask)); }

  double scale() const { return ratio < 1 ? 1 / (1 - ratio) : 0; }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(ratio >= 0 && ratio <= 1, "dropout: ratio must be in [0, 1], not ", ratio);
    Tensor y;
    std::tie(y, mask) = at::native_dropout(x, ratio, true);
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(DropoutApply{scale()}, c.gy(), c.saved(mask)); });
  }
};
CG_OP("dropout", Dropout,
      "Sets each element to 0 with probability ratio, by torch's generator, and divides the others by 1 - ratio.")

}  // namespace
}  // namespace cg
