// Random functions that move elements: choice, crop, flip, shift.
#include <ATen/ops/empty.h>

#include "ops/gather.h"
#include "ops/random.h"

namespace cg {
namespace {

// For each sample and axis: the position in x (times its stride) of each position in y, or -1 for none.
using Table = std::vector<std::vector<int64_t>>;

Ints contiguous_strides(at::IntArrayRef sizes) {
  Ints r(sizes.size(), 1);
  for (int64_t i = sizes.size() - 1; i-- > 0;) r[i] = r[i + 1] * sizes[i + 1];
  return r;
}

// Walks y in C order. Samples are the positions on the axes before base_axis; the tables are taken in turn.
struct Walk {
  const std::vector<Table>& tables;
  int64_t base_axis, ndim;
  int64_t* to;
  size_t turn = 0;
  void go(int64_t axis, int64_t offset) {
    const std::vector<int64_t>& row = tables[turn][axis];
    for (const int64_t r : row) {
      const int64_t here = offset < 0 || r < 0 ? -1 : offset + r;
      if (axis == ndim - 1) {
        *to++ = here;
        continue;
      }
      go(axis + 1, here);
      if (axis < base_axis) turn = (turn + 1) % tables.size();
    }
  }
};

// y = x[index], `value` where the index is negative; linear in x.
struct Move {
  Tensor index;
  static constexpr auto stored() { return std::make_tuple(param("index", &Move::index)); }
  bool outside = false;  // whether some index is negative
  Ints shape;
  template <class F>
  void plan(const Tensor& x, int64_t base_axis, at::IntArrayRef result, F&& table) {
    const int64_t ndim = x.dim();
    shape = ints(result);
    std::vector<Table> tables;
    const int64_t samples = c10::multiply_integers(x.sizes().slice(0, base_axis));
    for (int64_t i = 0; i < samples; ++i) tables.push_back(table());
    index = at::empty({c10::multiply_integers(result)}, at::kLong);
    if (index.numel() == 0) return;
    if (ndim == 0)
      index.zero_();
    else
      Walk{tables, base_axis, ndim, index.data_ptr<int64_t>()}.go(0, 0);
    outside = (index < 0).any().item<bool>();
    index = index.to(x.device());
  }
  Tensor move(const Tensor& x, double value) const {
    const Tensor y = select_along(at::reshape(x, {-1}), outside ? index.clamp_min(0) : index, 0);
    return at::reshape(outside ? at::where(index < 0, at::Scalar(value), y).to(x.scalar_type()) : y, shape);
  }
  template <class T>
  T back(Ctx<T>& c) const {
    const at::IntArrayRef sizes = c.in_sizes(0);
    const T places = c.saved(index);
    T g = reshape(c.gy(), {-1});
    if (outside) g = g * frozen([](const Tensor& t) { return t >= 0; }, places);
    const auto inside = [](const Tensor& t) { return t.clamp_min(0); };
    return reshape(add_along(g, outside ? frozen(inside, places) : places, 0, c10::multiply_integers(sizes)), sizes);
  }
  // Before anything is drawn, any index may turn out to be outside.
  Tensor unknown(const Tensor& x, at::IntArrayRef result) {
    index = at::empty({c10::multiply_integers(result)}, x.options().dtype(at::kLong));
    outside = true;
    return at::empty(result, x.options());
  }
};

int64_t check_base_axis(const char* op, int64_t base_axis, const Tensor& x) {
  const int64_t a = wrap_base_axis(base_axis, x.dim());
  TORCH_CHECK_VALUE(a >= 0 && a < x.dim(), op, ": base_axis is ", base_axis, ", but x has shape ", x.sizes());
  return a;
}

struct RandomCrop : Move {
  Ints size;
  int64_t base_axis = 1;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(required("shape", &RandomCrop::size), param("base_axis", &RandomCrop::base_axis),
                           required("rng", &RandomCrop::rng));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const int64_t base = check_base_axis("random_crop", base_axis, x), lead = x.dim() - size.size();
    Ints result = ints(x.sizes());
    for (int64_t i = 0; i < static_cast<int64_t>(size.size()); ++i) {
      TORCH_CHECK_VALUE(lead >= 0 && size[i] <= x.size(lead + i), "random_crop: shape ", at::IntArrayRef(size),
                        " is larger than that of x, ", x.sizes());
      result[lead + i] = size[i];
    }
    if (x.is_meta()) return unknown(x, result);
    Mt& g = generator("random_crop", rng);
    const Ints strides = contiguous_strides(x.sizes());
    plan(x, base, result, [&] {
      Table t(x.dim());
      for (int64_t a = 0; a < x.dim(); ++a) {
        const int64_t left =
            a < lead ? 0 : static_cast<int64_t>(g() % static_cast<uint64_t>(x.size(a) - result[a] + 1));
        for (int64_t i = 0; i < result[a]; ++i) t[a].push_back((left + i) * strides[a]);
      }
      return t;
    });
    return move(x, 0);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return back(c); });
  }
};
CG_OP("random_crop", RandomCrop, "A part of x of the given shape (its last axes), elsewhere for each sample.")

struct RandomFlip : Move {
  Ints axes;
  int64_t base_axis = 1;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(required("axes", &RandomFlip::axes), param("base_axis", &RandomFlip::base_axis),
                           required("rng", &RandomFlip::rng));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const int64_t base = check_base_axis("random_flip", base_axis, x);
    std::vector<bool> chosen(x.dim());
    for (int64_t a : axes) {
      const int64_t i = wrap_axis(a, x.dim());
      TORCH_CHECK_VALUE(i >= 0 && i < x.dim(), "random_flip: axis ", a, " is not one of x, of shape ", x.sizes());
      chosen[i] = true;
    }
    if (x.is_meta()) return unknown(x, x.sizes());
    Mt& g = generator("random_flip", rng);
    const Ints strides = contiguous_strides(x.sizes());
    plan(x, base, x.sizes(), [&] {
      Table t(x.dim());
      for (int64_t a = 0; a < x.dim(); ++a) {
        const bool flip = g() % 2 && chosen[a];
        const int64_t n = x.size(a);
        for (int64_t i = 0; i < n; ++i) t[a].push_back((flip ? n - 1 - i : i) * strides[a]);
      }
      return t;
    });
    return move(x, 0);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return back(c); });
  }
};
CG_OP("random_flip", RandomFlip, "x with the order on each of the axes reversed, or not, for each sample.")

struct RandomShift : Move {
  Ints shifts;
  std::string border_mode = "nearest";
  double constant_value = 0;
  int64_t base_axis = 1;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(required("shifts", &RandomShift::shifts), param("border_mode", &RandomShift::border_mode),
                           param("constant_value", &RandomShift::constant_value),
                           param("base_axis", &RandomShift::base_axis), required("rng", &RandomShift::rng));
  }
  static constexpr Mask saves = 0;
  int64_t source(int64_t i, int64_t n) const {
    if (border_mode == "nearest") return std::min(std::max<int64_t>(i, 0), n - 1);
    if (border_mode == "constant") return i < 0 || i >= n ? -1 : i;
    const int64_t j = ((i % (2 * n)) + 2 * n) % (2 * n);
    return j < n ? j : 2 * n - 1 - j;
  }
  Tensor forward(const Tensor& x) {
    const int64_t base = check_base_axis("random_shift", base_axis, x), lead = x.dim() - shifts.size();
    TORCH_CHECK_VALUE(lead >= 0, "random_shift: ", shifts.size(), " shifts were given, but x has shape ", x.sizes());
    TORCH_CHECK_VALUE(border_mode == "nearest" || border_mode == "reflect" || border_mode == "constant",
                      "random_shift: border_mode must be 'nearest', 'reflect' or 'constant', not '", border_mode, "'");
    if (x.is_meta()) return unknown(x, x.sizes());
    Mt& g = generator("random_shift", rng);
    const Ints strides = contiguous_strides(x.sizes());
    plan(x, base, x.sizes(), [&] {
      Table t(x.dim());
      for (int64_t a = 0; a < x.dim(); ++a) {
        const int64_t most = a < lead ? 0 : shifts[a - lead];
        const int64_t shift = a < lead ? 0 : static_cast<int64_t>(g() % static_cast<uint64_t>(2 * most + 1)) - most;
        for (int64_t i = 0; i < x.size(a); ++i) {
          const int64_t from = source(i - shift, x.size(a));
          t[a].push_back(from < 0 ? -1 : from * strides[a]);
        }
      }
      return t;
    });
    return move(x, constant_value);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return back(c); });
  }
};
CG_OP("random_shift", RandomShift, "x shifted by up to shifts[i] along its last axes, by other steps for each sample.")

// Rows of x sampled by weights. The gradient of a choice goes to the element and to its weight.
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
  // The position that the number u of [0, sum of weights) falls on, or n.
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
    const int64_t positive = std::count_if(w.begin(), w.end(), [](float v) { return v > 0; });
    TORCH_CHECK_VALUE(positive >= count, "random_choice: ", count,
                      " elements without replacement need as many positive", " weights, but there are ", positive);
    std::vector<float> sums(w.size());
    for (int64_t have = 0; have < count;) {
      running(w, sums);
      std::uniform_real_distribution<> uniform(0, sums.back());
      for (int64_t need = count - have; need > 0; --need) {  // what was taken in this round is refused, then left out
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
CG_OP("random_choice", RandomChoice,
      "Elements of each row of x, drawn with the probabilities that w is proportional to.")

}  // namespace
}  // namespace cg
