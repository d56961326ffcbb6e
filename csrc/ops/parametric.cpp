// Activations with a learned parameter, whose shape is x.shape[1 : 1 + parameter.ndim].
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_prelu_kernel.h>
#include <ATen/ops/empty.h>

#include "kernels/only_shape.h"
#include "ops/one_loop.h"

namespace cg {
namespace {

// The shape that makes the parameter broadcast against x.
Ints aligned(at::IntArrayRef param, int64_t ndim) {
  Ints s{1};
  s.append(param.begin(), param.end());
  s.resize(std::max<size_t>(ndim, s.size()), 1);
  return s;
}

// Sums the gradient of the aligned parameter to the shape of the parameter.
template <class T>
T unaligned(const T& g, at::IntArrayRef param) {
  return reshape(cg::sum_to(g, aligned(param, g.dim())), param);
}

struct PReLU {
  bool nan = true;
  static constexpr auto params() { return std::make_tuple(param("nan", &PReLU::nan)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& w) {
    const Ints across = aligned(w.sizes(), x.dim());
    if (kernels::only_shape(x, w) && at::is_expandable_to(across, x.sizes())) return at::empty(x.sizes(), x.options());
    return at::_prelu_kernel(x, at::reshape(w, across));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T x = c.in(0);
    const auto above = [](const T& x) { return frozen([](const Tensor& x) { return x >= 0; }, x); };
    c.grad(0, [&] {
      T w = reshape(c.in(1), aligned(c.in_sizes(1), x.dim()));
      if constexpr (std::is_same_v<T, Tensor>) w = w.expand(x.sizes());
      return fused([](auto g, auto x, auto w) CG_EACH { return x >= 0 ? g : g * w; },
                   [&](const T& g, const T& x, const T& w) { return where(above(x), g, g * w); }, c.gy(), x, w);
    });
    c.grad(1, [&] {
      const auto one_loop = [&](auto each) {
        return fused(
            each,
            [&](const T& g, const T& x) {
              const T reads = frozen([n = nan](const Tensor& x) { return n ? (x >= 0).logical_not() : x < 0; }, x);
              return where(reads, g * x, zeros_as(x));
            },
            c.gy(), x);
      };
      const T g = nan ? one_loop([](auto g, auto x) CG_EACH { return x >= 0 ? 0 : g * x; })
                      : one_loop([](auto g, auto x) CG_EACH { return x < 0 ? g * x : 0; });
      return unaligned(g, c.in_sizes(1));
    });
  }
};
CG_OP("prelu", PReLU, "x where x >= 0, else w * x. nan: where x is NaN the gradient of w is NaN, else 0.")

struct Swish {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& beta) {
    return x * at::mul(x, at::reshape(beta, aligned(beta.sizes(), x.dim()))).sigmoid_();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T x = c.in(0), beta = reshape(c.in(1), aligned(c.in_sizes(1), x.dim()));
    const T s = sigmoid(x * beta), rest = x - x * s;
    c.grad(0, [&] { return c.gy() * s * (beta * rest + 1); });
    c.grad(1, [&] { return unaligned(c.gy() * x * s * rest, c.in_sizes(1)); });
  }
};
CG_POINTWISE("swish", Swish, "x * sigmoid(beta * x)")

}  // namespace
}  // namespace cg
