// Softmax and its logarithm.
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>

#include "kernels/only_shape.h"
#include "ops/unary.h"

namespace cg {
namespace {

bool only_shape(const Tensor& x, int64_t axis) { return kernels::only_shape(x) && axis >= -x.dim() && axis < x.dim(); }

struct SoftmaxGrad {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &SoftmaxGrad::axis)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& y) { return at::_softmax_backward_data(gy, y, axis, y.scalar_type()); }
  template <class T>
  void backward(Ctx<T>& c) {
    const T gy = c.in(0), y = c.in(1);
    c.grad(0, [&] { return run(SoftmaxGrad{axis}, c.gy(), y); });
    c.grad(1, [&] { return c.gy() * (gy - sum(gy * y, {axis}, true)) - gy * sum(c.gy() * y, {axis}, true); });
  }
};
CG_OP("softmax_grad", SoftmaxGrad, "y (gy - sum(gy y)): the gradient of softmax from its result y.")

CG_UNARY_WITH(Softmax, "softmax", param, int64_t, axis, 1, out_bit(0), softmax(x, axis),
              run(SoftmaxGrad{axis}, c.gy(), c.out(0)), "exp(x), scaled to sum 1 along axis.")

struct LogSoftmaxGrad {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &LogSoftmaxGrad::axis)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& y) {
    TORCH_CHECK_VALUE(gy.sizes() == y.sizes(), "log_softmax_grad: gy of shape ", gy.sizes(), " for y of shape ",
                      y.sizes());
    return at::_log_softmax_backward_data(gy, y, axis, y.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T weighted = c.gy() * exp(c.in(1));
    c.grad(0, [&] { return c.gy() - sum(weighted, {axis}, true); });
    c.grad(1, [&] { return -(weighted * sum(c.in(0), {axis}, true)); });
  }
};
CG_OP("log_softmax_grad", LogSoftmaxGrad, "gy - exp(y) sum(gy): the gradient of log_softmax from its result y.")

CG_UNARY_WITH(LogSoftmax, "log_softmax", param, int64_t, axis, 1, out_bit(0), log_softmax(x, axis),
              run(LogSoftmaxGrad{axis}, c.gy(), c.out(0)), "Logarithm of softmax along axis.")

}  // namespace

Var softmax(const Var& x, int64_t axis) { return run(Softmax{axis}, x); }
Tensor softmax(const Tensor& x, int64_t axis) {
  return only_shape(x, axis) ? at::empty(x.sizes(), x.options()) : at::_softmax(x, axis, false);
}
Tensor log_softmax(const Tensor& x, int64_t axis) {
  return only_shape(x, axis) ? at::empty(x.sizes(), x.options()) : at::_log_softmax(x, axis, false);
}

}  // namespace cg
