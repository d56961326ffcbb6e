// Random choice of elements.
#include <ATen/ops/empty.h>

#include "ops/gather.h"
#include "ops/random.h"

namespace cg {
namespace {

// Samples elements of each row of x by weights. The gradient of a choice goes to the element and to its weight.
struct RandomChoice {
  Ints shape;
  bool replace = true;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(required("shape", &RandomChoice::shape), param("replace", &RandomChoice::replace),
                           required("rng", &RandomChoice::rng));
  }
  static constexpr Mask saves = 0;
  Tensor index;  // positions in the flattened x
  static constexpr auto stored() { return std::make_tuple(param("index", &RandomChoice::index)); }

  Ints result(const Tensor& x) const {
    Ints r = ints(x.sizes().slice(0, x.dim() - 1));
    r.append(shape.begin(), shape.end());
    if (shape.empty()) r.push_back(1);
    return r;
  }
  // The position for the number u in [0, sum of weights), or n.
  static int64_t position(const std::vector<float>& sums, float u) {
    return std::upper_bound(sums.begin(), sums.end(), u) - sums.begin();
  }
  static void running(const std::vector<float>& w, std::vector<float>& sums) {
    float s = 0;
    for (size_t i = 0; i < w.size(); ++i) sums[i] = s = i == 0 ? w[0] : s + w[i];
    TORCH_CHECK_VALUE(std::isfinite(s), "random_choice: the weights of a sample must have a finite sum, not ", s);
  }
  void with_replacement(Mt& g, const std::vector<float>& w, int64_t count, int64_t start, int64_t* to) const {
    std::vector<float> sums(w.size());
    running(w, sums);
    TORCH_CHECK_VALUE(*std::min_element(w.begin(), w.end()) >= 0, "random_choice: weights must not be negative");
    TORCH_CHECK_VALUE(sums.back() > 0, "random_choice: at least one weight of each sample must be positive");
    std::uniform_real_distribution<> uniform(0, sums.back());
    const int64_t last = w.size() - 1;
    for (int64_t i = 0; i < count; ++i) to[i] = start + std::min(position(sums, static_cast<float>(uniform(g))), last);
  }
  void without_replacement(Mt& g, std::vector<float> w, int64_t count, int64_t start, int64_t* to) const {
    TORCH_CHECK_VALUE(*std::min_element(w.begin(), w.end()) >= 0, "random_choice: weights must not be negative");
    const int64_t positive = std::count_if(w.begin(), w.end(), [](float v) { return v > 0; });
    TORCH_CHECK_VALUE(positive >= count, "random_choice: ", count,
                      " elements without replacement need as many positive", " weights, but there are ", positive);
    std::vector<float> sums(w.size());
    for (int64_t have = 0; have < count;) {
      running(w, sums);
      std::uniform_real_distribution<> uniform(0, sums.back());
      // An element that is drawn twice in a round counts once, and is excluded from the next round.
      for (int64_t need = count - have; need > 0; --need) {
        const size_t i = position(sums, static_cast<float>(uniform(g)));
        if (i < w.size() && w[i] > 0) {
          to[have++] = start + i;
          w[i] = 0;
        }
      }
    }
  }
  Tensor forward(const Tensor& x, const Tensor& w) {
    TORCH_CHECK_VALUE(x.dim() > 0 && x.sizes() == w.sizes(), "random_choice: x has shape ", x.sizes(), ", but w ",
                      w.sizes(), ": they must be the same and have an axis");
    const Ints r = result(x);
    const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
    const int64_t count = rows == 0 ? 0 : c10::multiply_integers(r) / rows;
    TORCH_CHECK_VALUE(replace || count <= n, "random_choice: ", count, " elements cannot be sampled without",
                      " replacement from ", n);
    if (x.is_meta()) {
      index = at::empty({rows * count}, x.options().dtype(at::kLong));
      return at::empty(r, x.options());
    }
    Mt& g = generator("random_choice", rng);
    Tensor places = at::empty({rows * count}, at::kLong);
    const Tensor weights = w.to(at::kCPU, at::kFloat).contiguous();
    for (int64_t b = 0; b < rows; ++b) {
      const float* p = weights.data_ptr<float>() + b * n;
      const std::vector<float> row(p, p + n);
      int64_t* to = places.data_ptr<int64_t>() + b * count;
      replace ? with_replacement(g, row, count, b * n, to) : without_replacement(g, row, count, b * n, to);
    }
    index = places.to(x.device());
    return at::reshape(select_along(at::reshape(x, {-1}), index, 0), r);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    for (size_t i = 0; i < 2; ++i)
      c.grad(i, [&] {
        const at::IntArrayRef sizes = c.in_sizes(i);
        return reshape(add_along(reshape(c.gy(), {-1}), c.saved(index), 0, c10::multiply_integers(sizes)), sizes);
      });
  }
};
CG_OP("random_choice", RandomChoice, "Elements of each row of x, drawn with probabilities proportional to w.")

}  // namespace
}  // namespace cg
