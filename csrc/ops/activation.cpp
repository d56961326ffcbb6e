// Activations. Each first derivative that ATen has as one function is a separate op, `..._grad`, differentiable in both
// inputs.
#include <ATen/ops/elu.h>
#include <ATen/ops/elu_backward.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/softplus_backward.h>

#include <numbers>

#include "kernels/softplus.h"
#include "ops/one_loop.h"
#include "ops/slopes.h"
#include "ops/tanh.h"
#include "ops/unary.h"

namespace cg {
namespace {

Var softplus_slope(const Var& gy, const Var& x, double beta);
Var gelu_backward(const Var& gy, const Var& x, const char* approximate);
Var silu_backward(const Var& gy, const Var& x);

Tensor tanh_slope(const Tensor& gy, const Tensor& y) { return few::tanh_backward(gy, y); }
Var tanh_slope(const Var& gy, const Var& y) { return tanh_backward(gy, y); }
Tensor sigmoid_slope(const Tensor& gy, const Tensor& y) { return few::sigmoid_backward(gy, y); }
Var sigmoid_slope(const Var& gy, const Var& y) { return sigmoid_backward(gy, y); }

struct TanhGrad {
  static constexpr bool real = true;
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& gy, const Tensor& y) { return few::tanh_backward(gy, y); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return tanh_slope(c.gy(), c.in(1)); });
    c.grad(1, [&] { return c.gy() * c.in(0) * c.in(1) * -2; });
  }
};
CG_POINTWISE("tanh_grad", TanhGrad, "gy * (1 - y * y)")

struct Tanh {
  static constexpr bool real = true;
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return fast_tanh(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return tanh_slope(c.gy(), c.out(0)); });
  }
};
CG_POINTWISE("tanh", Tanh, "Hyperbolic tangent.")

struct SigmoidGrad {
  static constexpr bool real = true;
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& gy, const Tensor& y) { return few::sigmoid_backward(gy, y); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return sigmoid_slope(c.gy(), c.in(1)); });
    c.grad(1, [&] { return c.gy() * c.in(0) * (1 - c.in(1) * 2); });
  }
};
CG_POINTWISE("sigmoid_grad", SigmoidGrad, "gy * y * (1 - y)")

struct Sigmoid {
  static constexpr bool real = true;
  static constexpr Mask saves = out_bit(0);
  Tensor forward(const Tensor& x) { return fast_sigmoid(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return sigmoid_slope(c.gy(), c.out(0)); });
  }
};
CG_POINTWISE("sigmoid", Sigmoid, "1 / (1 + exp(-x))")

CG_POINTWISE_UNARY(LogSigmoid, "log_sigmoid", in_bit(0), at::log_sigmoid(x), c.gy() * sigmoid(-c.in(0)),
                   "log(sigmoid(x)) without overflow.")

struct ELUGrad {
  double alpha = 1, scale = 1;
  bool is_result = false, nan = true;
  static constexpr auto params() {
    return std::make_tuple(param("alpha", &ELUGrad::alpha), param("scale", &ELUGrad::scale),
                           param("is_result", &ELUGrad::is_result), param("nan", &ELUGrad::nan));
  }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor into(const Tensor& to, const Tensor& gy, const Tensor& x) const {
    if (is_result)
      if (Tensor g = elu_slope(to, gy, x, scale, scale * alpha, nan); g.defined()) return g;
    return at::where(at::isnan(x), nan ? x : gy * scale, at::elu_backward(gy, alpha, scale, 1, is_result, x));
  }
  Tensor forward(const Tensor& gy, const Tensor& x) { return into({}, gy, x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(ELUGrad{*this}, c.gy(), c.in(1)); });
    c.grad(1, [&]() -> T {
      const T g = c.gy() * c.in(0) * frozen([](const Tensor& x) { return x <= 0; }, c.in(1));
      return is_result ? g : run(ELUGrad{*this}, g, c.in(1));
    });
  }
};
CG_POINTWISE("elu_grad", ELUGrad,
             "gy * scale where x > 0, else gy * scale * alpha * exp(x). is_result: x is the output of elu. nan: NaN "
             "where x is NaN, otherwise gy * scale there.")

struct ELU {
  double alpha = 1, scale = 1;
  bool nan = true;
  static constexpr auto params() {
    return std::make_tuple(param("alpha", &ELU::alpha), param("scale", &ELU::scale), param("nan", &ELU::nan));
  }
  bool by_output() const { return alpha >= 0 && scale > 0; }
  Mask saves_for(c10::ArrayRef<bool>) const { return by_output() ? out_bit(0) : in_bit(0); }
  Tensor forward(const Tensor& x) { return at::elu(x, alpha, scale); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T x = by_output() ? c.out(0) : c.in(0);
      const ELUGrad slope{alpha, scale, by_output(), nan};
      return overwrite_or(
          c.gy(), [&](auto& g) { return slope.into(g, g, value(x)); }, [&] { return run(ELUGrad{slope}, c.gy(), x); });
    });
  }
};
CG_POINTWISE("elu", ELU, "scale * x where x > 0, else scale * alpha * (exp(x) - 1). nan: as in elu_grad.")

// If beta * x is larger than this, log(1 + exp(beta * x)) equals beta * x in float64.
constexpr double kSoftplusLinear = 40;
Tensor softplus_of(const Tensor& x, double beta) {
  Tensor y = few::map([=](auto x) CG_EACH { return kernels::softplus(x, static_cast<decltype(x)>(beta)); }, x);
  return y.defined() ? y : at::softplus(x, beta, kSoftplusLinear);
}
Tensor softplus_slope(const Tensor& gy, const Tensor& x, double beta) {
  Tensor g =
      few::map([=](auto g, auto x) CG_EACH { return g * simd::sigmoid(x * static_cast<decltype(x)>(beta)); }, gy, x);
  return g.defined() ? g : at::softplus_backward(gy, x, beta, kSoftplusLinear);
}

struct SoftplusGrad {
  double beta = 1;
  static constexpr auto params() { return std::make_tuple(param("beta", &SoftplusGrad::beta)); }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& gy, const Tensor& x) { return softplus_slope(gy, x, beta); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return softplus_slope(c.gy(), c.in(1), beta); });
    c.grad(1, [&] { return sigmoid_backward(c.gy() * c.in(0), sigmoid(c.in(1) * beta)) * beta; });
  }
};
CG_POINTWISE("softplus_grad", SoftplusGrad, "gy * sigmoid(beta * x)")

CG_POINTWISE_UNARY_WITH(Softplus, "softplus", param, double, beta, 1, in_bit(0), softplus_of(x, beta),
                        softplus_slope(c.gy(), c.in(0), beta), "log(1 + exp(beta * x)) / beta")

const char* gelu_kind(bool approximate) { return approximate ? "tanh" : "none"; }
Tensor gelu_of(const Tensor& x, bool approximate) { return approximate ? fast_gelu(x) : at::gelu(x); }

struct GELUGrad {
  bool approximate = false;
  static constexpr auto params() { return std::make_tuple(param("approximate", &GELUGrad::approximate)); }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& gy, const Tensor& x) {
    return approximate ? fast_gelu_backward(gy, x) : at::gelu_backward(gy, x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return gelu_backward(c.gy(), c.in(1), gelu_kind(approximate)); });
    c.grad(1, [&] { return c.gy() * c.in(0) * curvature(c.in(1)); });
  }
  // The derivative of gelu_grad, i.e. the second derivative of gelu.
  template <class T>
  T curvature(const T& x) const {
    constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
    const T x2 = square(x);
    if (!approximate) return exp(x2 * -0.5) * (2 - x2) * (k / 2);
    // y = x / 2 * (1 + tanh(u)), u = k * (x + 0.044715 * x ** 3), u1 and u2 the derivatives of u.
    const T t = tanh((x2 * 0.044715 + 1) * x * k);
    const T u1 = (x2 * (3 * 0.044715) + 1) * k, u2 = x * (6 * 0.044715 * k);
    return tanh_backward(u1 + x * 0.5 * (u2 - t * square(u1) * 2), t);
  }
};
CG_POINTWISE("gelu_grad", GELUGrad, "gy times the derivative of gelu at x.")

CG_POINTWISE_UNARY_WITH(GELU, "gelu", param, bool, approximate, false, in_bit(0), gelu_of(x, approximate),
                        gelu_backward(c.gy(), c.in(0), gelu_kind(approximate)),
                        "x times the normal distribution function at x. approximate: by tanh.")

struct SiLUGrad {
  static constexpr bool real = true;
  Mask saves_for(c10::ArrayRef<bool> needs) const { return in_bit(1) | (needs[1] ? in_bit(0) : 0); }
  Tensor forward(const Tensor& gy, const Tensor& x) { return at::silu_backward(gy, x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return silu_backward(c.gy(), c.in(1)); });
    c.grad(1, [&] {
      const T x = c.in(1), s = sigmoid(x);
      return sigmoid_backward(c.gy() * c.in(0) * (x * (1 - s * 2) + 2), s);
    });
  }
};
CG_OP("silu_grad", SiLUGrad, "gy times the derivative of silu at x.")

CG_POINTWISE_UNARY(SiLU, "silu", in_bit(0), at::silu(x), silu_backward(c.gy(), c.in(0)), "x * sigmoid(x)")

struct SoftSign {
  static constexpr bool real = true;
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    return fused([](auto x) CG_EACH { return x / ((x < 0 ? -x : x) + 1); },
                 [](const Tensor& x) { return x / (at::abs(x) + 1); }, x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      return fused(
          [](auto g, auto x) CG_EACH {
            const auto size = (x < 0 ? -x : x) + 1;
            return g / (size * size);
          },
          [](const T& g, const T& x) { return g / square(abs(x) + 1); }, c.gy(), c.in(0));
    });
  }
};
CG_POINTWISE("softsign", SoftSign, "x / (1 + |x|)")

Var softplus_slope(const Var& gy, const Var& x, double beta) { return run(SoftplusGrad{beta}, gy, x); }
Var gelu_backward(const Var& gy, const Var& x, const char* approximate) {
  return run(GELUGrad{approximate[0] == 't'}, gy, x);
}
Var silu_backward(const Var& gy, const Var& x) { return run(SiLUGrad{}, gy, x); }

}  // namespace

Var tanh(const Var& x) { return run(Tanh{}, x); }
Var sigmoid(const Var& x) { return run(Sigmoid{}, x); }
Var tanh_backward(const Var& gy, const Var& y) { return run(TanhGrad{}, gy, y); }
Var sigmoid_backward(const Var& gy, const Var& y) { return run(SigmoidGrad{}, gy, y); }

}  // namespace cg
