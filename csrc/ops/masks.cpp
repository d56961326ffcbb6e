// Masks and edges: bool_gather and related ops, one_hot, padding with elements of the array.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/zeros.h>

#include "core/deferred.h"
#include "kernels/raw.h"
#include "kernels/trace.h"
#include "ops/gather.h"

namespace cg {
namespace {

struct BoolFill {
  double value = 0;
  static constexpr auto params() { return std::make_tuple(param("value", &BoolFill::value)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  static void check(at::IntArrayRef result, const Tensor& x, const Tensor& mask) {
    TORCH_CHECK_VALUE(result == x.sizes(), "bool_fill: the mask's shape ", mask.sizes(),
                      " does not broadcast to that of data, ", x.sizes());
  }
  Tensor infer(const Tensor& x, const Tensor& mask) const {
    check(at::infer_size_dimvector(mask.sizes(), x.sizes()), x, mask);
    return hollow(x);
  }
  Tensor forward(const Tensor& x, const Tensor& mask) {
    const Tensor y = at::where(mask != 0, at::Scalar(value), x);
    check(y.sizes(), x, mask);
    return y.to(x.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * frozen([](const Tensor& t) { return t == 0; }, c.in(1)); });
  }
};
CG_OP("bool_fill", BoolFill, "x with value where mask is not zero.")

// The indices of the mask's elements that are not zero, which are rows of x reshaped to (mask elements, elements of a
// slice).
Tensor marked(const Tensor& mask) { return at::nonzero(at::reshape(mask, {-1}).to(at::kBool)).select(1, 0); }
// `marked` for a known number n of marked elements, so that the result's shape does not depend on the mask's values.
// Takes the first n indices of an order in which marked elements come before the others.
Tensor marked_first(const Tensor& mask, int64_t n) {
  return at::argsort(at::reshape(mask == 0, {-1}).to(at::kByte), true, 0, false).narrow(0, 0, n);
}
Ints slices(int64_t rows, int64_t elements) { return {rows, rows == 0 ? 0 : elements / rows}; }

struct BoolGather {
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;
  Tensor rows;
  static constexpr auto stored() { return std::make_tuple(param("rows", &BoolGather::rows)); }
  Tensor forward(const Tensor& x, const Tensor& mask) {
    TORCH_CHECK_VALUE(mask.dim() <= x.dim() && mask.sizes() == x.sizes().slice(0, mask.dim()),
                      "bool_gather: the shape of the mask, ", mask.sizes(),
                      ", is not the beginning of the shape of input, ", x.sizes());
    kernels::reads_values("bool_gather", mask);
    rows = marked(mask);
    const Tensor y = select_along(at::reshape(x, slices(mask.numel(), x.numel())), rows, 0);
    return mask.dim() == x.dim() ? at::reshape(y, {-1}) : y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const Ints s = slices(c10::multiply_integers(c.in_sizes(1)), c10::multiply_integers(c.in_sizes(0)));
      return reshape(add_along(reshape(c.gy(), {-1, s[1]}), c.saved(rows), 0, s[0]), c.in_sizes(0));
    });
  }
};
CG_OP("bool_gather", BoolGather, "The slices of x at which mask is not zero, each as a row.")

struct BoolScatter {
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  static constexpr Mask optional = in_bit(2);
  Tensor forward(const Tensor& x, const Tensor& mask, const Tensor& out) {
    TORCH_CHECK_VALUE(x.dim() > 0, "bool_scatter: input must have at least one axis");
    Ints shape = ints(mask.sizes());
    shape.append(x.sizes().begin() + 1, x.sizes().end());
    TORCH_CHECK_VALUE(!out.defined() || out.sizes() == at::IntArrayRef(shape), "bool_scatter: output has shape ",
                      out.sizes(), ", but input and mask give ", at::IntArrayRef(shape));
    Tensor y = out.defined() ? out : at::zeros(shape, x.options());
    if (no_data(x)) return y;
    const Tensor rows = kernels::traced(mask) ? marked_first(mask, x.size(0)) : marked(mask);
    TORCH_CHECK_VALUE(rows.numel() == x.size(0), "bool_scatter: the mask marks ", rows.numel(),
                      " elements, but input has ", x.size(0), " rows");
    const Ints s = slices(mask.numel(), y.numel());
    const Tensor lines = at::reshape(y, s).index_copy_(0, rows, at::reshape(x, {rows.numel(), s[1]}));
    if (!lines.is_alias_of(y)) y.copy_(lines.view(shape));
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const Ints s = slices(c10::multiply_integers(c.in_sizes(1)), c10::multiply_integers(c.out_sizes(0)));
    c.grad(0, [&] {
      const auto rows = [n = c.in_sizes(0)[0]](const Tensor& mask) { return marked_first(mask, n); };
      return reshape(select_along(reshape(c.gy(), s), frozen(rows, c.in(1)), 0), c.in_sizes(0));
    });
    c.grad(2, [&] {
      const auto kept = [](const Tensor& mask) { return at::reshape(mask == 0, {-1, 1}); };
      return reshape(reshape(c.gy(), s) * frozen(kept, c.in(1)), c.out_sizes(0));
    });
  }
};
CG_OP("bool_scatter", BoolScatter, "Zeros, or `out`, with the rows of x where mask is not zero.")

struct NonZero {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    kernels::reads_values("nonzero", x);
    return at::nonzero(x).t().contiguous();
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("nonzero", NonZero, "The positions of the elements that are not zero, one row per axis.")

struct OneHot {
  Ints shape;
  static constexpr auto params() { return std::make_tuple(required("shape", &OneHot::shape)); }
  static constexpr Mask saves = 0;
  static constexpr Mask integers = in_bit(0);
  Ints result(const Tensor& x) const {
    TORCH_CHECK_VALUE(x.dim() > 0 && x.size(-1) == static_cast<int64_t>(shape.size()), "one_hot: x has shape ",
                      x.sizes(), ", but its last axis must have ", shape.size(), " elements, as shape has");
    Ints sizes = ints(x.sizes().slice(0, x.dim() - 1));
    sizes.append(shape.begin(), shape.end());
    return sizes;
  }
  Tensor infer(const Tensor& x) const { return hollow(result(x), at::kFloat, x.device()); }
  Tensor forward(const Tensor& x) {
    const int64_t n = shape.size();
    const Ints sizes = result(x);
    const bool plain = x.device().is_cpu() && kernels::plain(x) && x.is_contiguous();
    if (plain && x.scalar_type() == at::kLong && c10::multiply_integers(sizes) > 0) return in_one_loop(x, sizes);
    const Tensor lines = at::reshape(x, {-1, n}).to(at::kLong);
    Tensor place = at::zeros({lines.size(0)}, lines.options()), valid = at::ones_like(place).to(at::kBool);
    for (int64_t i = 0; i < n; ++i) {
      Tensor p = lines.select(1, i);
      p = at::where(p < 0, p + shape[i], p);
      valid = valid.logical_and((p >= 0).logical_and(p < shape[i]));
      place = place * shape[i] + p;
    }
    place = at::where(valid, place, at::zeros_like(place));  // for an index out of range no element is one
    const Tensor y = at::zeros({lines.size(0), c10::multiply_integers(shape)}, x.options().dtype(at::kFloat));
    return at::reshape(y.scatter_(1, place.unsqueeze(1), valid.to(at::kFloat).unsqueeze(1)), sizes);
  }
  // The same without a dozen functions of ATen.
  Tensor in_one_loop(const Tensor& x, const Ints& sizes) const {
    const int64_t n = shape.size(), each = c10::multiply_integers(shape);
    const Tensor y = at::zeros(sizes, x.options().dtype(at::kFloat));
    const int64_t* place = x.const_data_ptr<int64_t>();
    float* const to = y.mutable_data_ptr<float>();
    for (int64_t row = 0; row < y.numel() / each; ++row, place += n) {
      int64_t at = 0;
      bool valid = true;  // for an index out of range no element is one
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = place[i] < 0 ? place[i] + shape[i] : place[i];
        valid = valid && p >= 0 && p < shape[i];
        at = at * shape[i] + (valid ? p : 0);
      }
      if (valid) to[row * each + at] = 1;
    }
    return y;
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("one_hot", OneHot,
      "Arrays of `shape`, with a one at the index that each row of x (..., len(shape)) holds, and zeros elsewhere.")

// Elements beyond the edges are copies: "repeat" of the outermost one, "reflect" mirrored without it, "symmetric"
// mirrored with it.
struct Edges {
  Ints before, after;  // for each axis, or for the last ones; may be negative
  std::string mode;
  static constexpr auto params() {
    return std::make_tuple(required("before", &Edges::before), required("after", &Edges::after),
                           required("mode", &Edges::mode));
  }
  static constexpr Mask saves = 0;
  // The first axis of x to which `before` and `after` apply. In a graph the number of x's axes may have changed.
  int64_t first(int64_t ndim) const {
    const int64_t named = before.size();
    TORCH_CHECK_VALUE(named == static_cast<int64_t>(after.size()) && named <= ndim,
                      "edges: before and after are given for ", named, " axes, but x has ", ndim);
    return ndim - named;
  }
  bool changes(int64_t place) const { return before[place] != 0 || after[place] != 0; }
  Tensor infer(const Tensor& x) const {
    Ints sizes = ints(x.sizes());
    for (int64_t from = first(x.dim()), a = from; a < x.dim(); ++a) {
      if (!changes(a - from)) continue;
      sizes[a] += before[a - from] + after[a - from];
      if (sizes[a] < 0 || (mode != "repeat" && mode != "reflect" && mode != "symmetric")) return {};
    }
    return hollow(sizes, x);
  }
  Tensor index(int64_t place, int64_t n, at::Device device) const {
    const Tensor i =
        at::arange(n + before[place] + after[place], at::TensorOptions(at::kLong).device(device)) - before[place];
    if (mode == "repeat") return at::clamp(i, 0, n - 1);
    if (mode == "reflect") {
      if (n == 1) return at::zeros_like(i);
      const Tensor j = at::remainder(i, 2 * (n - 1));
      return at::where(j < n, j, 2 * (n - 1) - j);
    }
    TORCH_CHECK_VALUE(mode == "symmetric", "edges: mode must be 'repeat', 'reflect' or 'symmetric', not '", mode, "'");
    const Tensor j = at::remainder(i, 2 * n);
    return at::where(j < n, j, 2 * n - 1 - j);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (int64_t from = first(x.dim()), a = from; a < x.dim(); ++a)
      if (changes(a - from)) y = select_along(y, index(a - from, x.size(a), x.device()), a);
    return y.is_same(x) ? x.clone() : y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      T g = c.gy();
      const at::IntArrayRef sizes = c.in_sizes(0);
      for (int64_t from = first(sizes.size()), a = sizes.size(); a-- > from;)
        if (changes(a - from)) g = add_along(g, T(index(a - from, sizes[a], value(g).device())), a, sizes[a]);
      return g;
    });
  }
};
CG_OP("edges", Edges,
      "x extended by before[i] elements before and after[i] elements after its axes (the last ones, if there are more "
      "axes than numbers), copied from its edges.")

// Cumulative sums along an axis: `exclusive` without the element itself, `reverse` from the end.
struct RunningSum {
  int64_t axis = 0;
  bool exclusive = false, reverse = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &RunningSum::axis), param("exclusive", &RunningSum::exclusive),
                           param("reverse", &RunningSum::reverse));
  }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const {
    wrap_axis(axis, x.dim());
    return at::isIntegralType(x.scalar_type(), /*includeBool=*/true) || x.dim() == 0 ? Tensor() : hollow(x);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = at::cumsum(reverse ? at::flip(x, axis) : x, axis);
    if (exclusive && x.size(axis) > 0)
      y = at::cat({at::zeros_like(y.narrow(axis, 0, 1)), y.narrow(axis, 0, x.size(axis) - 1)}, axis);
    return reverse ? at::flip(y, axis) : y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RunningSum{axis, exclusive, !reverse}, c.gy()); });
  }
};
CG_OP("running_sum", RunningSum, "Cumulative sums along an axis, with or without the element itself, from either end.")

struct Eye {
  int64_t k = 0;
  static constexpr auto params() { return std::make_tuple(param("k", &Eye::k)); }
  static constexpr Mask saves = 0;
  static void check(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 2, "eye_like: x must have two axes, not the shape ", x.sizes());
  }
  Tensor infer(const Tensor& x) const {
    check(x);
    return hollow(x);
  }
  Tensor forward(const Tensor& x) {
    check(x);
    const int64_t n = x.size(0), m = x.size(1);
    return (at::arange(m, x.options()).unsqueeze(0) - at::arange(n, x.options()).unsqueeze(1) == k).to(x.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return zeros_as(c.gy()); });
  }
};
CG_OP("eye_like", Eye, "Ones on the k-th diagonal of a matrix of x's shape, zeros elsewhere; constant in x.")

}  // namespace
}  // namespace cg
