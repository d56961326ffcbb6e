// Activations with a learned parameter, whose shape is x.shape[1 : 1 + parameter.ndim].
#include <ATen/ops/_prelu_kernel.h>

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
  return reshape(sum_to(g, aligned(param, g.dim())), param);
}

struct PReLU {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& w) {
    return at::_prelu_kernel(x, at::reshape(w, aligned(w.sizes(), x.dim())));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T x = c.in(0);
    const auto below = [](const T& x) { return frozen([](const Tensor& x) { return x < 0; }, x); };
    c.grad(0, [&] {
      T w = reshape(c.in(1), aligned(c.in_sizes(1), x.dim()));
      if constexpr (std::is_same_v<T, Tensor>) w = w.expand(x.sizes());
      return fused([](auto g, auto x, auto w) CG_EACH { return x < 0 ? g * w : g; },
                   [&](const T& g, const T& x, const T& w) { return where(below(x), g * w, g); }, c.gy(), x, w);
    });
    c.grad(1, [&] {
      const T g = fused([](auto g, auto x) CG_EACH { return x < 0 ? g * x : 0; },
                        [&](const T& g, const T& x) { return g * x * below(x); }, c.gy(), x);
      return unaligned(g, c.in_sizes(1));
    });
  }
};
CG_OP("prelu", PReLU, "x where x >= 0, else w * x.")

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
