// Random numbers of several distributions, and dropout.
#include "ops/random.h"

#include <ATen/Context.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

namespace cg {

at::Generator device_generator(const char* function, const Tensor& state, at::Device device) {
  const at::Generator& own = at::globalContext().defaultGenerator(device);
  if (kernels::capturing) return own;  // torch advances this generator in each replay
  at::Generator g = own.clone();
  g.set_current_seed(generator(function, state)());
  return g;
}

namespace {

struct NewGenerator {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& seed) {
    kernels::reads_values("new_generator", seed);
    Tensor state = at::empty({static_cast<int64_t>(sizeof(Mt))}, at::kByte);
    new (state.data_ptr()) Mt(static_cast<Mt::result_type>(seed.item<int64_t>()));
    return state;
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("new_generator", NewGenerator, "The state of a random generator, seeded with an integer.")

template <class V, class F>
void fill_by(Tensor& y, F&& next) {
  V* p = y.data_ptr<V>();
  for (int64_t i = 0, n = y.numel(); i < n; ++i) p[i] = next();
}
template <class D>
void fill(Tensor& y, Mt& g, D distribution) {
  fill_by<typename D::result_type>(y, [&] { return distribution(g); });
}

// Beta by Johnk's rejection method if both parameters are at most 1, otherwise from two gamma variates.
void fill_beta(Tensor& y, Mt& g, float alpha, float beta) {
  std::uniform_real_distribution<float> uniform(0, 1);
  std::gamma_distribution<float> first(alpha, 1), second(beta, 1);
  float* p = y.data_ptr<float>();
  const int64_t n = y.numel();
  if (alpha > 1 || beta > 1) {
    for (int64_t i = 0; i < n; ++i) {
      const float a = first(g), b = second(g);
      p[i] = a / (a + b);
    }
    return;
  }
  for (int64_t i = 0; i < n;) {
    const float u = uniform(g), v = uniform(g);
    const float a = std::pow(u, 1 / alpha), b = std::pow(v, 1 / beta);
    if (a + b <= 1 && a + b > 0) p[i++] = a / (a + b);
  }
}

struct Draw {
  std::string kind;
  double a = 0, b = 1;
  Ints shape;
  std::string device = "cpu";
  static constexpr auto params() {
    return std::make_tuple(required("kind", &Draw::kind), required("a", &Draw::a), required("b", &Draw::b),
                           required("shape", &Draw::shape), param("device", &Draw::device));
  }
  static constexpr Mask saves = 0;
  // With other numbers the distributions of the standard library are undefined, and some would never end.
  void check() const {
    const bool positive = a > 0 && b > 0, whole = a < b && a >= INT32_MIN && b - 1 <= INT32_MAX;
    const bool fits = kind == "integer"                   ? whole
                      : kind == "binomial"                ? positive && b < 1 && a <= INT32_MAX
                      : kind == "gamma" || kind == "beta" ? positive
                                                          : true;
    TORCH_CHECK_VALUE(fits, "draw: ", kind, " cannot have the parameters ", a, " and ", b);
  }
  Tensor on_device(const Tensor& state, at::Device d) const {
    const at::Generator g = device_generator("draw", state, d);
    Tensor y = at::empty(shape, at::TensorOptions(at::kFloat).device(d));
    if (kind == "uniform") return y.uniform_(a, b, g);
    if (kind == "normal") return y.normal_(a, b, g);
    if (kind == "integer") return y.to(at::kInt).random_(static_cast<int64_t>(a), static_cast<int64_t>(b), g);
    return {};
  }
  Tensor forward(const Tensor& state) {
    check();
    const at::Device d(device);
    if (!d.is_cpu()) {
      const Tensor y = on_device(state, d);
      if (y.defined()) return y;
    }
    Mt& g = generator("draw", state);
    Tensor y = at::empty(shape, kind == "integer" || kind == "binomial" ? at::kInt : at::kFloat);
    if (kind == "uniform")
      fill_by<float>(y, [&] { return between(g, a, b); });
    else if (kind == "normal")  // the standard one, because a deviation of 0 is undefined for the distribution
      fill_by<float>(y, [&, d = std::normal_distribution<float>()]() mutable {
        return d(g) * static_cast<float>(b) + static_cast<float>(a);
      });
    else if (kind == "integer")
      fill(y, g, std::uniform_int_distribution<int>(a, b - 1));
    else if (kind == "binomial")
      fill(y, g, std::binomial_distribution<int>(a, b));
    else if (kind == "gamma")
      fill(y, g, std::gamma_distribution<float>(a, b));
    else if (kind == "beta")
      fill_beta(y, g, a, b);
    else
      TORCH_CHECK_VALUE(false, "draw: there is no distribution '", kind, "'");
    return (kind == "binomial" ? y.to(at::kFloat) : y).to(d);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("draw", Draw,
      "Numbers of the distribution `kind` (uniform, normal, integer, binomial, gamma, beta) with parameters a and b, "
      "drawn from a generator's state, which is advanced.")

struct DropoutDrawn {
  double p = 0.5;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(param("p", &DropoutDrawn::p), required("rng", &DropoutDrawn::rng));
  }
  static constexpr Mask saves = 0;
  Tensor mask;  // 0 or 1 / (1 - p)
  static constexpr auto stored() { return std::make_tuple(param("mask", &DropoutDrawn::mask)); }

  Tensor drawn(const Tensor& x) const {
    const double scale = 1 / (1 - p);
    if (!x.is_cpu())
      return at::bernoulli(at::empty_like(x), 1 - p, device_generator("dropout_drawn", rng, x.device())).mul_(scale);
    const bool single = x.scalar_type() == at::kFloat;
    const float kept = single ? static_cast<float>(scale) : 1;
    Mt& g = generator("dropout_drawn", rng);
    Tensor m = at::empty(x.sizes(), at::kFloat);
    float* to = m.data_ptr<float>();
    const auto word = [&] { return static_cast<double>(static_cast<uint32_t>(g())); };
    // As std::bernoulli_distribution does: two words are a number in [0, 1), here scaled by 2^64.
    const double limit = p == 0 ? 0x1p65 : (1 - p) * 0x1p64;
    for (int64_t i = 0, n = x.numel(); i < n; ++i) {
      const double low = word(), u = low + word() * 0x1p32;
      to[i] = u < limit ? kept : 0;
    }
    return single ? m : m.to(x.scalar_type()).mul_(scale);
  }
  Tensor infer(const Tensor& x) {
    mask = at::empty(x.sizes(), x.options().device(at::kMeta));
    return x;
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(p >= 0 && p < 1, "dropout: p must be in [0, 1), not ", p);
    mask = drawn(x);
    return x * mask;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * c.saved(mask); });
  }
};
CG_OP("dropout_drawn", DropoutDrawn,
      "Zeros each element with probability p, drawn from a generator's state, and scales the others by 1 / (1 - p).")

}  // namespace
}  // namespace cg
