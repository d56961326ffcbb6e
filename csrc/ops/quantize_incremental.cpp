// Incremental network quantization: first some weights, finally all, are rounded to powers of two.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/random.h"

namespace cg {
namespace {

struct INQWeights {
  int64_t num_bits = 4;
  Ints inq_iterations;
  bool random = false;
  static constexpr auto params() {
    return std::make_tuple(param("num_bits", &INQWeights::num_bits),
                           param("inq_iterations", &INQWeights::inq_iterations), param("random", &INQWeights::random));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  // The range of exponents, from `largest`, the largest absolute value.
  struct Exponents {
    int low, high;
    static int of(float v) {
      constexpr float middle = 0.58496250072115619f;  // log2(1.5), halfway between two powers
      const float b = std::log2(v);
      if (!std::isfinite(b)) return b > 0 ? 128 : -150;  // beyond the exponents of all finite numbers
      return int(std::floor(b)) + (b - std::floor(b) >= middle);
    }
    Exponents(float largest, int64_t num_bits) {
      high = of(largest == 0 ? 1 : largest);
      low = high + 1 - (1 << (num_bits - 2));
    }
    float quantized(float w) const {
      if (std::abs(w) < std::ldexp(1.0f, low - 1)) return 0;
      return std::ldexp(w < 0 ? -1.0f : 1.0f, std::clamp(of(std::abs(w)), low, high));
    }
  };
  // Selects the weights that are fixed from this step on.
  void fix(const std::vector<float>& w, std::vector<float>& fixed, int64_t step, const Tensor& random_state) const {
    if (std::find(inq_iterations.begin(), inq_iterations.end(), step) == inq_iterations.end()) return;
    if (inq_iterations.back() == step) {
      std::fill(fixed.begin(), fixed.end(), 1.0f);
    } else if (random) {
      std::bernoulli_distribution coin(0.5);
      Mt& g = generator("inq_weights", random_state);
      for (float& f : fixed)
        if (f == 0) f = coin(g);
    } else {
      std::vector<size_t> order;
      for (size_t i = 0; i < fixed.size(); ++i)
        if (fixed[i] == 0) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::abs(w[a]) > std::abs(w[b]); });
      order.resize(order.size() / 2);
      for (size_t i : order) fixed[i] = 1;
    }
  }
  static std::vector<float> numbers(const Tensor& t) {
    const Tensor c = t.to(at::kCPU, at::kFloat).contiguous();
    return {c.const_data_ptr<float>(), c.const_data_ptr<float>() + c.numel()};
  }
  static void write(const std::vector<float>& from, const Tensor& to) {
    Tensor(to).copy_(
        at::from_blob(const_cast<float*>(from.data()), to.sizes(), at::TensorOptions(at::kFloat)));  // copied at once
  }
  Tensor forward(const Tensor& w, const Tensor& indicators, const Tensor& old_w, const Tensor& old_indicators,
                 const Tensor& steps, const Tensor& random_state) {
    if (w.is_meta()) return at::empty(w.sizes(), w.options());
    kernels::reads_values("inq_weights", w, steps);
    TORCH_CHECK_VALUE(num_bits >= 2 && num_bits <= 32, "inq_weights: num_bits must be 2 to 32, not ", num_bits);
    for (const Tensor* t : {&indicators, &old_w, &old_indicators})
      TORCH_CHECK_VALUE(t->numel() == w.numel(), "inq_weights: a state of shape ", t->sizes(), " for w of shape ",
                        w.sizes());
    TORCH_CHECK_VALUE(w.numel() > 0 && steps.numel() == 2, "inq_weights: w of shape ", w.sizes(), " and ",
                      steps.numel(), " steps; w must have elements, and there must be two steps");
    // These tensors are on a GPU if a context has moved all inputs there.
    const Tensor now = steps.select(0, 0), last = steps.select(0, 1);
    const int64_t step = now.item<int64_t>();
    // This step's weights are in old_w. w need not have them: the run that made them may have written to a copy of w.
    if (step == last.item<int64_t>()) return old_w.to(w.options(), false, true);
    last.copy_(now);
    std::vector<float> v = numbers(w), fixed = numbers(indicators), before = numbers(old_w);
    const std::vector<float> kept = numbers(old_indicators);
    float largest = 0;
    for (size_t i = 0; i < v.size(); ++i)
      if (kept[i] == 1) v[i] = before[i];
    fix(v, fixed, step, random_state);
    for (float x : v) largest = std::max(largest, std::abs(x));
    const Exponents exponents(largest, num_bits);
    for (size_t i = 0; i < v.size(); ++i)
      if (fixed[i] == 1) v[i] = exponents.quantized(v[i]);
    for (const Tensor& to : {w, old_w}) write(v, to);
    for (const Tensor& to : {indicators, old_indicators}) write(fixed, to);
    return w.clone();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_OP("inq_weights", INQWeights,
      "One step of quantizing w in place: where indicators are 1, weights are powers of two and are not changed. At "
      "the steps in inq_iterations half of the other weights are quantized, those with the largest absolute values or "
      "random ones; at the last of these steps all are. The third and fourth input are memory of the caller for the "
      "old weights and indicators; steps are this step and the last executed one; then comes the state of a generator. "
      "The gradient is passed on to w unchanged.")

}  // namespace
}  // namespace cg
