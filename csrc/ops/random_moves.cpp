// Random functions that move elements: crop, flip, shift.
#include <ATen/ops/empty.h>

#include "ops/gather.h"
#include "ops/random.h"

namespace cg {
namespace {

// For each sample and axis: for each position in y the position in x (times its stride), or -1 for none.
using Table = std::vector<std::vector<int64_t>>;

Ints contiguous_strides(at::IntArrayRef sizes) {
  Ints r(sizes.size(), 1);
  for (int64_t i = sizes.size() - 1; i-- > 0;) r[i] = r[i + 1] * sizes[i + 1];
  return r;
}

// A loop over y in C order. Samples are the positions on the axes before base_axis; each sample uses the next table.
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

// y = x[index], or `value` where the index is negative; linear in x.
struct Move {
  static constexpr Mask saves = 0;
  Tensor index;
  static constexpr auto stored() { return std::make_tuple(param("index", &Move::index)); }
  bool outside = false;  // whether an index is negative
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
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const at::IntArrayRef sizes = c.in_sizes(0);
      const T places = c.saved(index);
      T g = reshape(c.gy(), {-1});
      if (outside) g = g * frozen([](const Tensor& t) { return t >= 0; }, places);
      const auto inside = [](const Tensor& t) { return t.clamp_min(0); };
      return reshape(add_along(g, outside ? frozen(inside, places) : places, 0, c10::multiply_integers(sizes)), sizes);
    });
  }
  // Indices of the right shape, before they are drawn; any of them may become negative.
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
  Tensor forward(const Tensor& x) {
    const int64_t base = check_base_axis("random_crop", base_axis, x), lead = x.dim() - size.size();
    Ints result = ints(x.sizes());
    for (int64_t i = 0; i < static_cast<int64_t>(size.size()); ++i) {
      TORCH_CHECK_VALUE(lead >= 0 && size[i] >= 0 && size[i] <= x.size(lead + i), "random_crop: shape ",
                        at::IntArrayRef(size), " is not a part of that of x, ", x.sizes());
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
};
CG_OP("random_crop", RandomCrop,
      "A part of x of the given shape (its last axes), at a random position for each sample.")

struct RandomFlip : Move {
  Ints axes;
  int64_t base_axis = 1;
  Tensor rng;
  static constexpr auto params() {
    return std::make_tuple(required("axes", &RandomFlip::axes), param("base_axis", &RandomFlip::base_axis),
                           required("rng", &RandomFlip::rng));
  }
  Tensor forward(const Tensor& x) {
    const int64_t base = check_base_axis("random_flip", base_axis, x);
    std::vector<bool> chosen(x.dim());
    for (int64_t a : axes) {
      const int64_t i = wrap_axis(a, x.dim());
      TORCH_CHECK_VALUE(i >= 0 && i < x.dim(), "random_flip: axis ", a, " does not exist in x of shape ", x.sizes());
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
};
CG_OP("random_shift", RandomShift,
      "x shifted by up to shifts[i] elements along its last axes, differently for each sample.")

}  // namespace
}  // namespace cg
