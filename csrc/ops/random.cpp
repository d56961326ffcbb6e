// Random numbers of several distributions, and dropout.
#include "ops/random.h"

#include <ATen/Context.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

#include "kernels/map.h"
#include "kernels/simd.h"

namespace cg {

at::Generator device_generator(const char* function, const Tensor& state, at::Device device) {
  const at::Generator& own = at::globalContext().defaultGenerator(device);
  if (kernels::capturing) return own;  // torch advances this generator in each replay
  at::Generator g = own.clone();
  g.set_current_seed(generator(function, state)());
  return g;
}

namespace {

#if defined(__GLIBCXX__)
// std::mt19937 keeps its words and the place of the next one. The library makes one number a call; these loops over all
// words are vectorized, and leave the generator as the calls would.
static_assert(sizeof(Mt) == (Mt::state_size + 1) * sizeof(uint64_t));

CG_SIMD void next_state(uint64_t* x) {
  const auto next = [&](int64_t i, int64_t after, int64_t far) __attribute__((always_inline)) {
    const uint64_t y = (x[i] & 0x80000000u) | (x[after] & 0x7fffffffu);
    x[i] = x[far] ^ (y >> 1) ^ (-(y & 1) & 0x9908b0dfu);
  };
  CG_IVDEP
  for (int64_t i = 0; i < 227; ++i) next(i, i + 1, i + 397);
  CG_IVDEP
  for (int64_t i = 227; i < 623; ++i) next(i, i + 1, i - 227);
  next(623, 0, 396);
}
CG_SIMD void temper(int64_t n, const uint64_t* __restrict x, uint32_t* __restrict to) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t w = static_cast<uint32_t>(x[i]);
    w ^= w >> 11;
    w ^= (w << 7) & 0x9d2c5680u;
    w ^= (w << 15) & 0xefc60000u;
    to[i] = w ^ (w >> 18);
  }
}
// The next n numbers of the generator.
void take(Mt& g, int64_t n, uint32_t* to) {
  auto* const x = reinterpret_cast<uint64_t*>(&g);
  constexpr int64_t size = Mt::state_size;
  for (uint64_t& place = x[size]; n > 0;) {
    if (place >= static_cast<uint64_t>(size)) {
      next_state(x);
      place = 0;
    }
    const int64_t count = std::min<int64_t>(n, size - static_cast<int64_t>(place));
    temper(count, x + place, to);
    place += count, to += count, n -= count;
  }
}
#else
void take(Mt& g, int64_t n, uint32_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(g());
}
#endif

// Calls f(first, count, words) for n elements, which get `each` numbers of the generator.
template <class F>
void with_words(Mt& g, int64_t n, int64_t each, F&& f) {
  constexpr int64_t room = 1024;
  uint32_t words[room];
  for (int64_t i = 0; i < n; i += room / each) {
    const int64_t count = std::min(n - i, room / each);
    take(g, count * each, words);
    f(i, count, words);
  }
}
// As std::bernoulli_distribution does: two words are a number in [0, 1), here scaled by 2^64.
CG_SIMD void keep_below(int64_t n, const uint32_t* __restrict words, double limit, float kept, float* __restrict to) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<double>(words[2 * i]) + static_cast<double>(words[2 * i + 1]) * 0x1p32 < limit ? kept : 0;
}
// As `between` does.
CG_INLINE float unit(uint32_t word) {
  const float u = static_cast<float>(word) * 0x1p-32f;
  return u < 1 ? u : 0x1.fffffep-1f;
}
CG_SIMD void scale_words(int64_t n, const uint32_t* __restrict words, float low, float high, float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = unit(words[i]) * (high - low) + low;
}
// The numbers of std::normal_distribution<float>: a point inside the unit circle gives two numbers. The library tests
// one point at a time, and the processor mispredicts the branch for points outside the circle; these loops have no such
// branch. They draw no more points than are needed if all lie inside, so that the generator ends in the same state.
void fill_normal(Mt& g, int64_t n, float mean, float deviation, float* to) {
  constexpr int64_t room = 512;
  uint32_t words[2 * room];
  float x[room], y[room], r[room];
  for (int64_t done = 0; done < n;) {
    const int64_t points = std::min((n - done + 1) / 2, room);
    take(g, 2 * points, words);
    kernels::detail::run_loop(kernels::detail::Once{[&]() CG_EACH {
      for (int64_t i = 0; i < points; ++i) {
        x[i] = 2 * unit(words[2 * i]) - 1;
        y[i] = 2 * unit(words[2 * i + 1]) - 1;
        r[i] = x[i] * x[i] + y[i] * y[i];
      }
    }});
    int64_t inside = 0;
    for (int64_t i = 0; i < points; ++i) {
      const float square = r[i];
      x[inside] = x[i], y[inside] = y[i], r[inside] = square;
      inside += static_cast<int64_t>(square <= 1) & static_cast<int64_t>(square != 0);
    }
    for (int64_t i = 0; i < inside; ++i) r[i] = std::sqrt(-2 * std::log(r[i]) / r[i]);
    for (int64_t i = 0; i < inside; ++i) {
      to[done++] = y[i] * r[i] * deviation + mean;
      if (done < n) to[done++] = x[i] * r[i] * deviation + mean;
    }
  }
}

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
      with_words(g, y.numel(), 1, [&, to = y.mutable_data_ptr<float>()](int64_t i, int64_t n, const uint32_t* words) {
        scale_words(n, words, static_cast<float>(a), static_cast<float>(b), to + i);
      });
    else if (kind == "normal")  // the standard one, because a deviation of 0 is undefined for the distribution
      fill_normal(g, y.numel(), static_cast<float>(a), static_cast<float>(b), y.mutable_data_ptr<float>());
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
    const double limit = p == 0 ? 0x1p65 : (1 - p) * 0x1p64;
    with_words(g, x.numel(), 2, [&, to = m.mutable_data_ptr<float>()](int64_t i, int64_t n, const uint32_t* words) {
      keep_below(n, words, limit, kept, to + i);
    });
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
      "Sets each element to 0 with probability p, drawn from a generator's state, and divides the others by 1 - p.")

}  // namespace
}  // namespace cg
