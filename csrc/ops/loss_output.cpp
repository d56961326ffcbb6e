// Outputs that define their own gradient, as MXNet's losses do.
#include <ATen/ops/alias.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct LossOutput {
  bool multiply = false;
  static constexpr auto params() { return std::make_tuple(param("multiply", &LossOutput::multiply)); }
  static constexpr Mask saves = in_bit(2);

  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& g) {
    TORCH_CHECK_VALUE(g.sizes() == x.sizes() && (!multiply || y.sizes() == x.sizes()),
                      "loss_output: the gradient must have the shape ", x.sizes(), " of x, not ", g.sizes());
    return at::alias(y);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return multiply ? c.in(2) * c.gy() : c.in(2); });
  }
};
CG_OP("loss_output", LossOutput,
      "y, the second input. The gradient of x is the third input, whatever the gradient of the result is; with "
      "multiply, the product of both.")

}  // namespace
}  // namespace cg
