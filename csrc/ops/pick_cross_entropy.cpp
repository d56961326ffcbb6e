// Cross entropy with MXNet's treatment of labels.
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/zeros.h>

#include "kernels/loss.h"
#include "kernels/raw.h"
#include "ops/functions.h"

namespace cg {
namespace {

struct PickCrossEntropy {
  int64_t axis = -1;
  bool keepdims = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &PickCrossEntropy::axis), param("keepdims", &PickCrossEntropy::keepdims));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor log_sum, chosen;  // defined only if the CPU kernel ran
  static constexpr auto stored() {
    return std::make_tuple(param("log_sum", &PickCrossEntropy::log_sum), param("chosen", &PickCrossEntropy::chosen));
  }

  static constexpr kernels::CrossEntropy kernel{-1, false, false};
  // The shape of x with length 1 along the axis, or without it.
  Ints reduced(const Tensor& x, bool keep) const {
    Ints shape(x.sizes().begin(), x.sizes().end());
    if (keep)
      shape[axis] = 1;
    else
      shape.erase(shape.begin() + axis);
    return shape;
  }
  Tensor flat(const Tensor& x) const {
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < x.dim(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= x.size(i);
    return shaped(x.contiguous(), {outer, x.size(axis), inner});
  }
  // Labels truncated to integers, and limited to the nearest class.
  Tensor labels(const Tensor& x, const Tensor& t) const {
    return at::clamp(t.to(at::kLong), 0, x.size(axis) - 1).reshape(reduced(x, true));
  }
  // `labels` in one loop, for labels in main memory.
  template <class N>
  Tensor read(const Tensor& x, const Tensor& t) const {
    const Tensor result = at::empty(reduced(x, true), t.options().dtype(at::kLong));
    const N* from = t.const_data_ptr<N>();
    int64_t* to = result.data_ptr<int64_t>();
    const auto last = x.size(axis) - 1;
    for (int64_t i = 0, n = t.numel(); i < n; ++i)  // NaN: the first class
      to[i] = from[i] >= static_cast<N>(last) ? last : from[i] > 0 ? static_cast<int64_t>(from[i]) : 0;
    return result;
  }
  Tensor contiguous_labels(const Tensor& x, const Tensor& t) const {
    if (t.device().is_cpu() && t.is_contiguous()) {
      if (t.scalar_type() == at::kFloat) return read<float>(x, t);
      if (t.scalar_type() == at::kInt) return read<int32_t>(x, t);
      if (t.scalar_type() == at::kLong) return read<int64_t>(x, t);
    }
    return labels(x, t).contiguous();
  }

  Tensor forward(const Tensor& x, const Tensor& t) {
    TORCH_CHECK_VALUE(axis >= -x.dim() && axis < x.dim(), "axis ", axis, " is not one of the ", x.dim(), " axes of x");
    axis = wrap_axis(axis, x.dim());
    const Ints dropped = reduced(x, false);
    TORCH_CHECK_VALUE(t.sizes() == at::IntArrayRef(dropped) || t.sizes() == at::IntArrayRef(reduced(x, true)),
                      "labels of shape ", t.sizes(), " do not fit x of shape ", x.sizes(), ": expected ",
                      at::IntArrayRef(dropped), ", the shape of x without axis ", axis);
    TORCH_CHECK_VALUE(x.size(axis) > 0, "x of shape ", x.sizes(), " has no classes along axis ", axis);
    if (kernels::raw(x)) {
      log_sum = few::empty(reduced(x, true), x);
      const Tensor y = few::empty(reduced(x, keepdims), x);
      chosen = contiguous_labels(x, t);
      kernels::softmax_cross_entropy(kernel, flat(x), chosen, Tensor(), log_sum, y);
      return y;
    }
    log_sum.reset();  // from an earlier run
    return -at::gather(cg::log_softmax(x, axis), axis, labels(x, t)).reshape(reduced(x, keepdims));
  }
  template <class T>
  T composed(const T& x, const T& t, const T& gy) const {
    const auto self = *this;
    const auto one_hot = [self](const Tensor& x, const Tensor& t) {
      return -at::zeros(x.sizes(), x.options()).scatter_(self.axis, self.labels(x, t), 1);
    };
    return (softmax(x, axis) + frozen(one_hot, x, t)) * reshape(gy, reduced(value(x), true));
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor x = c.in(0);
      if (!log_sum.defined()) return composed(x, c.in(1), c.gy());
      const Tensor gx = few::empty(x.sizes(), x);
      kernels::softmax_cross_entropy_grad(kernel, 1, flat(x), chosen, Tensor(), log_sum, c.gy().contiguous(), flat(gx));
      return gx;
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return composed(c.in(0), c.in(1), c.gy()); });
  }
};
CG_OP("pick_cross_entropy", PickCrossEntropy,
      "-log(softmax(x)) at the labels t along axis. t has the shape of x without that axis (or with length 1 there) "
      "and any dtype; a label out of range counts as the nearest class.")

}  // namespace
}  // namespace cg
