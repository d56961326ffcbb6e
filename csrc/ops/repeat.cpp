// Repeating.
#include <ATen/ops/empty.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/tile.h>
#include <ATen/ops/zeros.h>

#include "kernels/only_shape.h"
#include "ops/few_joined.h"
#include "ops/index.h"

namespace cg {
namespace {

// Sums of few elements along an axis. ATen's sum takes up to 20 times as long if the axis is the last one, and 1.4
// times if it is not.
constexpr int64_t kFew = 4;
Tensor sum_along(const Tensor& x, int64_t axis) {
  const int64_t n = x.size(axis);
  if (n < 2 || n > kFew || !at::isFloatingType(x.scalar_type()) || x.scalar_type() == at::kHalf)
    return at::sum(x, axis);
  Tensor y = x.select(axis, 0) + x.select(axis, 1);
  for (int64_t i = 2; i < n; ++i) y.add_(x.select(axis, i));
  return y;
}
Var sum_along(const Var& x, int64_t axis) { return sum(x, axis); }

struct Tile {
  Ints reps;
  static constexpr auto params() { return std::make_tuple(required("reps", &Tile::reps)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    if (kernels::only_shape(x) && std::all_of(reps.begin(), reps.end(), [](int64_t n) { return n >= 0; })) {
      Ints sizes(std::max<size_t>(reps.size(), x.dim()), 1);
      std::copy(x.sizes().begin(), x.sizes().end(), sizes.end() - x.dim());
      for (size_t k = 1; k <= reps.size(); ++k) sizes[sizes.size() - k] *= reps[reps.size() - k];
      return at::empty(sizes, x.options());
    }
    const Tensor y = few_tiled(x, reps);
    return y.defined() ? y : at::tile(x, reps);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const at::IntArrayRef sizes = c.in_sizes(0);
      if (value(c.gy()).numel() == 0) return T(at::zeros(sizes, c.gy().options()));
      // Sums one repeated axis after the other, because ATen is many times slower if it sums over several short axes at
      // once.
      T g = c.gy();
      Ints shape = ints(g.sizes());
      const int64_t ndim = shape.size(), lead = ndim - sizes.size();
      for (int64_t i = ndim; i-- > 0;) {
        const int64_t n = i < lead ? 1 : sizes[i - lead], repetitions = shape[i] / n;
        if (repetitions == 1) continue;
        Ints apart = shape;
        apart[i] = n;
        apart.insert(apart.begin() + i, repetitions);
        shape[i] = n;
        g = sum_along(reshape(g, apart), i);
      }
      return reshape(g, sizes);
    });
  }
};
CG_OP("tile", Tile, "x repeated reps[i] times along axis i.")

// The index of the element at each place: element i occurs repeats[i] times.
Tensor repeated_places(const Ints& repeats, int64_t size, at::Device device) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(repeats.size()) == size, "repeat: ", repeats.size(), " numbers for ", size,
                    " elements");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < size; ++i) {
    TORCH_CHECK_VALUE(repeats[i] >= 0, "repeat: an element cannot be repeated ", repeats[i], " times");
    places.insert(places.end(), repeats[i], i);
  }
  return kernels::constant(places, at::kLong).to(device);
}

// Without an axis, x is flattened.
struct RepeatGrad {
  Ints repeats;
  std::optional<int64_t> axis;
  Ints shape;
  static constexpr auto params() {
    return std::make_tuple(required("repeats", &RepeatGrad::repeats), required("axis", &RepeatGrad::axis),
                           required("shape", &RepeatGrad::shape));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& gy) {
    const int64_t a = axis ? wrap_axis(*axis, shape.size()) : 0;
    const Ints line{c10::multiply_integers(shape)};
    const Ints& s = axis ? shape : line;
    if (gy.numel() == 0) return at::zeros(shape, gy.options());
    if (repeats.size() == 1) {
      Ints apart = s;
      apart.insert(apart.begin() + a + 1, repeats[0]);
      return at::reshape(sum_along(at::reshape(gy, apart), a + 1), shape);
    }
    const Tensor places = repeated_places(repeats, s[a], gy.device());
    return at::reshape(at::zeros(s, gy.options()).index_add_(a, places, gy), shape);
  }
  template <class T>
  void backward(Ctx<T>& c);
};
CG_OP("repeat_grad", RepeatGrad, "The gradient of `repeat` for an input of the given shape: sums the repetitions.")

struct Repeat {
  Ints repeats;
  std::optional<int64_t> axis;
  static constexpr auto params() {
    return std::make_tuple(required("repeats", &Repeat::repeats), param("axis", &Repeat::axis));
  }
  static constexpr Mask saves = 0;
  // The repetitions, computed as tiles along a new axis after the repeated axis; an undefined tensor if ATen has to
  // repeat.
  Tensor tiled(const Tensor& x) const {
    if (!few::ordinary(x) || !few::nobody_watches() || (axis && (*axis >= x.dim() || *axis < -x.dim()))) return {};
    Ints sizes = axis ? ints(x.sizes()) : Ints{x.numel()};
    const size_t a = axis ? wrap_axis(*axis, x.dim()) : 0;
    int64_t slices = 1, length = 1;
    for (size_t i = 0; i < sizes.size(); ++i) (i <= a ? slices : length) *= sizes[i];
    const Tensor y = few_tiled(few::view_of(x, {slices, 1, length}), {1, repeats[0], 1});
    if (!y.defined()) return y;
    sizes[a] *= repeats[0];
    return few::view_of(y, sizes);
  }
  Tensor forward(const Tensor& x) {
    if (repeats.size() == 1) {
      const Tensor y = tiled(x);
      return y.defined() ? y : at::repeat_interleave(x, repeats[0], axis);
    }
    const Tensor lines = axis ? x : at::reshape(x, {-1});
    const int64_t a = axis.value_or(0);
    return at::index_select(lines, a, repeated_places(repeats, lines.size(a), x.device()));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RepeatGrad{repeats, axis, ints(c.in_sizes(0))}, c.gy()); });
  }
};
CG_OP("repeat", Repeat, "Each element repeated: repeats[0] times, or repeats[i] times along axis.")

template <class T>
void RepeatGrad::backward(Ctx<T>& c) {
  c.grad(0, [&] { return run(Repeat{repeats, axis}, c.gy()); });
}

}  // namespace
}  // namespace cg
