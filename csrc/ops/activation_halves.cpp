// Activations that join f(x) and f(-x).
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/ones_like.h>

#include "core/deferred.h"
#include "ops/functions.h"
#include "ops/one_loop.h"

namespace cg {
namespace {

// The shape (outer, parts, rest) of x, with 1 part, or of the joined result, with 2.
Ints split(at::IntArrayRef sizes, int64_t axis, int64_t parts) {
  int64_t outer = 1, rest = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) (i < axis ? outer : rest) *= sizes[i];
  return {outer, parts, rest};
}

// The joined result.
Tensor infer_joined(const Tensor& x, int64_t axis) {
  if (x.dim() == 0) return {};
  Ints sizes = ints(x.sizes());
  sizes[wrap_axis(axis, x.dim())] *= 2;
  return hollow(sizes, x);
}

struct CReLU {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &CReLU::axis)); }
  static constexpr Mask saves = in_bit(0);
  Tensor infer(const Tensor& x) const { return infer_joined(x, axis); }
  Tensor forward(const Tensor& x) {
    const auto upper = [](auto x) CG_EACH { return x > 0 ? x : x == x ? 0 : x; };
    const auto lower = [](auto x) CG_EACH { return x < 0 ? -x : x == x ? 0 : x; };
    return at::cat({fused(
                        upper, [](const Tensor& x) { return at::clamp_min(x, 0); }, x),
                    fused(
                        lower, [](const Tensor& x) { return at::clamp_min(-x, 0); }, x)},
                   axis);
  }
  // The factors of the gradients of the two halves: 1, -1 or 0.
  static Tensor slopes(const Tensor& x) {
    const Tensor up = (x > 0).to(x.scalar_type());
    return at::cat({up, up - 1}, 1);
  }
  // In one loop; an undefined tensor if ATen has to compute.
  static Tensor gradient(const Tensor& x, const Tensor& gy, int64_t outer) {
    if (!few::ordinary(x) || !few::ordinary(gy) || gy.scalar_type() != x.scalar_type() || x.numel() == 0 ||
        gy.numel() != 2 * x.numel() || !few::nobody_watches())
      return {};
    const Tensor gx = few::empty(x.sizes(), x);
    kernels::with_dtype(x, [&]<class T>(T) {
      const T *const from = x.const_data_ptr<T>(), *const g = gy.const_data_ptr<T>();
      T* const to = gx.mutable_data_ptr<T>();
      const int64_t rest = x.numel() / outer;
      kernels::in_threads(outer, kernels::kGrain / rest + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          kernels::map_range(
              rest, to + i * rest, [](auto x, auto up, auto down) CG_EACH { return x > 0 ? up : -down; },
              from + i * rest, g + 2 * i * rest, g + (2 * i + 1) * rest);
      });
    });
    return gx;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const int64_t at_axis = wrap_axis(axis, static_cast<int64_t>(c.in_sizes(0).size()));
      if constexpr (std::is_same_v<T, Tensor>) {
        Tensor gx = gradient(c.in(0), c.gy(), split(c.in_sizes(0), at_axis, 1)[0]);
        if (gx.defined()) return gx;
      }
      const T x = reshape(c.in(0), split(c.in_sizes(0), at_axis, 1));
      const T g = reshape(c.gy(), split(c.in_sizes(0), at_axis, 2));
      if constexpr (std::is_same_v<T, Tensor>)
        return at::where(x > 0, g.narrow(1, 0, 1), -g.narrow(1, 1, 1)).reshape(c.in_sizes(0));
      else
        return reshape(sum(g * frozen(slopes, x), {1}), c.in_sizes(0));
    });
  }
};
CG_OP("crelu", CReLU, "max(x, 0) and max(-x, 0), joined along axis; at 0 only the second one has a gradient.")

struct CELU {
  double alpha = 1;
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("alpha", &CELU::alpha), param("axis", &CELU::axis)); }
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor infer(const Tensor& x) const { return infer_joined(x, axis); }
  Tensor forward(const Tensor& x) { return at::cat({at::elu(x, alpha), at::elu(-x, alpha)}, axis); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const int64_t at_axis = wrap_axis(axis, static_cast<int64_t>(c.in_sizes(0).size()));
      const T x = reshape(c.in(0), split(c.in_sizes(0), at_axis, 1));
      const T y = reshape(c.out(0), split(c.in_sizes(0), at_axis, 2));
      const T g = reshape(c.gy(), split(c.in_sizes(0), at_axis, 2));
      const T linear = frozen([](const Tensor& x) { return at::cat({x >= 0, x <= 0}, 1); }, x);
      const T sign = frozen([](const Tensor& x) { return at::cat({at::ones_like(x), -at::ones_like(x)}, 1); }, x);
      return reshape(sum(where(linear, g, g * (y + alpha)) * sign, {1}), c.in_sizes(0));
    });
  }
};
CG_OP("celu", CELU, "elu_right of x and of -x, joined along axis.")

}  // namespace
}  // namespace cg
