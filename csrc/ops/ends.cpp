// The ends of a graph: results whose inputs get no gradient or a fixed one, and a result that is written into an input.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "core/deferred.h"
#include "ops/gather.h"
#include "ops/unary.h"

namespace cg {
namespace {

CG_UNARY(Unlink, "unlink", 0, x, zeros_as(c.gy()), "x itself; its gradient is 0.")

struct Sink {
  static constexpr Mask saves = 0;
  Tensor forward(TensorList xs) { return at::zeros({}, xs[0].options()); }
  template <class T>
  void backward(Ctx<T>& c) {
    for (size_t i = 0; i < c.inputs(); ++i)
      c.grad(i, [&] { return T(at::ones(c.in_sizes(i), c.gy().options().dtype(c.in_dtype(i)))); });
  }
};
CG_OP("sink", Sink, "A zero that depends on all inputs; each of them gets a gradient of ones.")

struct Assign {
  static constexpr Mask saves = 0;
  static void check(const Tensor& to, const Tensor& from) {
    TORCH_CHECK_VALUE(to.sizes() == from.sizes(), "assign: dst has shape ", to.sizes(), ", but src ", from.sizes());
  }
  Tensor infer(const Tensor& to, const Tensor& from) const {
    check(to, from);
    return hollow(from);
  }
  Tensor forward(const Tensor& to, const Tensor& from) {
    check(to, from);
    if (no_data(from)) return at::empty_like(from);
    to.copy_(from);
    return from.clone();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] { return zeros_as(c.gy()); });
  }
};
CG_OP("assign", Assign, "Writes the second input into the first and returns a copy; the first input gets the gradient.")

}  // namespace
}  // namespace cg
