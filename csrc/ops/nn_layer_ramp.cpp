// Coordinates.
#include <ATen/ops/arange.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct AddRamp {
  int64_t axis = 0, step = 1, start = 0;
  static constexpr auto params() {
    return std::make_tuple(required("axis", &AddRamp::axis), param("step", &AddRamp::step),
                           param("start", &AddRamp::start));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    axis = wrap_axis(axis, x.dim());
    const int64_t n = x.size(axis);
    Ints shape(x.dim(), 1);
    shape[axis] = n;
    return x + at::arange(start, start + n * step, step, x.options()).view(shape);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_OP("add_ramp", AddRamp, "x plus start, start + step, ... along an axis.")

}  // namespace
}  // namespace cg
