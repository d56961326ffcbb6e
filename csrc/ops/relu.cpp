// relu and leaky relu. A first derivative is a separate op, `..._grad`.
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/threshold_backward.h>

#include "ops/one_loop.h"

namespace cg {
namespace {

Var relu_gradient(const std::string& rule, const Var& gy, const Var& y);
Var leaky_relu_backward(const Var& gy, const Var& x, double slope, bool is_result);

// gy where y > 0, else 0. The rules differ where gy is not finite or y is NaN. product: gy times 0. choice: 0, and gy
// where y is NaN. slope: gy times 0, and NaN where y is NaN.
constexpr auto by_product = [](auto g, auto y) CG_EACH { return y > 0 ? g : g * 0; };
constexpr auto by_choice = [](auto g, auto y) CG_EACH { return y <= 0 ? decltype(g)(0) : g; };
Tensor relu_gradient(const std::string& rule, const Tensor& gy, const Tensor& y) {
  if (rule == "product") {
    Tensor gx = few::map(by_product, gy, y);
    return gx.defined() ? gx : at::leaky_relu_backward(gy, y, 0.0, false);
  }
  if (rule == "choice") {
    Tensor gx = few::map(by_choice, gy, y);
    return gx.defined() ? gx : at::threshold_backward(gy, y, 0.0);
  }
  TORCH_CHECK_VALUE(rule == "slope", "relu: rule must be product, choice or slope, not ", rule);
  return fused([](auto g, auto y) CG_EACH { return y > 0    ? g
                                                   : y <= 0 ? g * 0
                                                            : y; },
               [](const Tensor& g, const Tensor& y) {
                 return at::where(at::isnan(y), y, at::leaky_relu_backward(g, y, 0.0, false));
               },
               gy, y);
}
// How many adjacent elements of an expanded tensor are one number in memory: an image, in the gradient of global
// pooling. 0 if the numbers do not lie in C order.
int64_t repeated(const Tensor& t) {
  int64_t numbers = 1, each = 1;
  for (int64_t i = t.dim(); i-- > 0;) {
    if (t.size(i) == 1) continue;
    if (t.stride(i) == 0 && numbers == 1)
      each *= t.size(i);
    else if (t.stride(i) == numbers)
      numbers *= t.size(i);
    else
      return 0;
  }
  return each;
}
// Writes f(gy, y) into `to`, which may be gy or y; false: ATen has to compute.
template <class F>
bool gradient_into(F f, const Tensor& to, const Tensor& gy, const Tensor& y) {
  if (few::map_into(f, to, gy, y)) return true;
  if (!kernels::raw(to, gy) || gy.sizes() != y.sizes() || !few::alike(to, y) || !few::ordinary(to) ||
      !few::nobody_watches())
    return false;
  const int64_t each = repeated(gy);
  if (each < 2) return false;
  kernels::with_dtype(to, [&]<class T>(T) {
    const T *const g = gy.const_data_ptr<T>(), *const from = y.const_data_ptr<T>();
    T* const x = to.mutable_data_ptr<T>();
    kernels::in_threads(
        y.numel() / each, std::max<int64_t>(kernels::kGrain / each, 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            kernels::map_range(each, x + i * each, [f, s = g[i]](auto v) CG_EACH { return f(s, v); }, from + i * each);
        });
  });
  return true;
}
// Writes relu_gradient into `to`, which may be gy or y.
Tensor relu_gradient_into(Tensor to, const std::string& rule, const Tensor& gy, const Tensor& y) {
  if (rule == "product")
    return gradient_into(by_product, to, gy, y) ? to : at::leaky_relu_backward_out(to, gy, y, 0.0, false);
  if (rule == "choice") return gradient_into(by_choice, to, gy, y) ? to : at::threshold_backward_out(to, gy, y, 0.0);
  return relu_gradient(rule, gy, y);
}

struct ReLUGrad {
  std::string rule = "product";
  static constexpr auto params() { return std::make_tuple(param("rule", &ReLUGrad::rule)); }
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& y) { return relu_gradient(rule, gy, y); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return relu_gradient(rule, c.gy(), c.in(1)); });
  }
};
CG_POINTWISE("relu_grad", ReLUGrad,
             "gy where y > 0, else gy times 0; constant in y. rule: choice gives 0 instead, slope NaN where y is NaN.")

struct ReLU {
  std::string rule = "product";
  static constexpr auto params() { return std::make_tuple(param("rule", &ReLU::rule)); }
  static constexpr Mask saves = out_bit(0), reuses = out_bit(0);
  static constexpr auto clipped = [](auto x) CG_EACH { return x < 0 ? decltype(x)(0) : x; };
  Tensor forward(const Tensor& x) {
    Tensor y = few::map(clipped, x);
    return y.defined() ? y : at::relu(x);
  }
  Tensor forward_into(Tensor y, const Tensor& x) {
    return few::map_into(clipped, y, x) ? y : at::clamp_min_out(y, x, 0);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T& gy = c.gy();
    const T y = c.out(0, /*last=*/true);
    c.grad(0, [&] {
      return overwrite_or(
          gy, [&](auto& g) { return relu_gradient_into(g, rule, g, value(y)); },
          [&] {
            return overwrite_or(
                y, [&](auto& buffer) { return relu_gradient_into(buffer, rule, value(gy), buffer); },
                [&] { return relu_gradient(rule, gy, y); });
          });
    });
  }
};
CG_POINTWISE("relu", ReLU, "max(x, 0); the gradient at 0 is 0. rule: as in relu_grad.")

struct LeakyReLUGrad {
  double slope = 0.2;
  bool is_result = false;
  static constexpr auto params() {
    return std::make_tuple(required("slope", &LeakyReLUGrad::slope), param("is_result", &LeakyReLUGrad::is_result));
  }
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& x) { return at::leaky_relu_backward(gy, x, slope, is_result); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return leaky_relu_backward(c.gy(), c.in(1), slope, is_result); });
  }
};
CG_POINTWISE("leaky_relu_grad", LeakyReLUGrad, "gy where x > 0, else slope * gy; constant in x.")

struct LeakyReLU {
  double slope = 0.2;
  static constexpr auto params() { return std::make_tuple(param("slope", &LeakyReLU::slope)); }
  // The output has the sign of the input unless the slope is negative.
  bool by_output() const { return slope >= 0; }
  Mask saves_for(c10::ArrayRef<bool>) const { return by_output() ? out_bit(0) : in_bit(0); }
  Tensor forward(const Tensor& x) { return at::leaky_relu(x, slope); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T x = by_output() ? c.out(0) : c.in(0);
      return overwrite_or(
          c.gy(), [&](auto& g) { return at::leaky_relu_backward_out(g, g, value(x), slope, by_output()); },
          [&] { return leaky_relu_backward(c.gy(), x, slope, by_output()); });
    });
  }
};
CG_POINTWISE("leaky_relu", LeakyReLU, "x where x > 0, else slope * x.")

Var relu_gradient(const std::string& rule, const Var& gy, const Var& y) { return run(ReLUGrad{rule}, gy, y); }
Var leaky_relu_backward(const Var& gy, const Var& x, double slope, bool is_result) {
  return run(LeakyReLUGrad{slope, is_result}, gy, x);
}

}  // namespace
}  // namespace cg
