// Weights with two values, with the straight-through gradient.
#include <ATen/ops/full_like.h>

#include "core/deferred.h"
#include "ops/axes.h"

namespace cg {
namespace {

struct BinaryWeights {
  double quantize_zero_to = 1;
  Ints axis;
  static constexpr auto params() {
    return std::make_tuple(param("quantize_zero_to", &BinaryWeights::quantize_zero_to),
                           param("axis", &BinaryWeights::axis));
  }
  static constexpr Mask optional = in_bit(2);
  static constexpr Mask saves = 0;

  Tensor infer(const Tensor& w, const Tensor& binary, const Tensor& alpha) const {
    if (binary.sizes() != w.sizes()) return {};
    if (alpha.defined() &&
        (axis.empty() || c10::multiply_integers(reduced_sizes(w.sizes(), axis, true)) != alpha.numel()))
      return {};
    return hollow(w);
  }
  Tensor forward(const Tensor& w, const Tensor& binary, const Tensor& alpha) {
    Tensor signs = at::sign(w);  // 0 where w is NaN, too
    signs.masked_fill_(signs == 0, quantize_zero_to);
    Tensor(binary).copy_(signs);
    if (!alpha.defined()) return signs;
    const Tensor scale = at::mean(at::abs(w), axis, true);
    Tensor(alpha).copy_(scale.view(alpha.sizes()));
    return signs.mul_(scale);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_OP("binary_weights", BinaryWeights,
      "The signs of w, which are also written into the second input. With a third input, the signs are multiplied by "
      "the mean of |w| over axis, which is written into that input. The gradient is passed on to w unchanged.")

}  // namespace
}  // namespace cg
