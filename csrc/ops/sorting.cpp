// Sorting, extrema with their positions, the k largest elements, distinct values.
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/unique_dim.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/deferred.h"
#include "kernels/trace.h"
#include "ops/axes.h"
#include "ops/gather.h"

namespace cg {
namespace {

// The outputs that a function returns: the values, the values and their positions, or the positions.
std::vector<Tensor> outputs_of(const Tensor& values, const Tensor& index, bool with_index, bool only_index) {
  if (only_index) return {index};
  if (with_index) return {values, index};
  return {values};
}

struct Sort {
  int64_t axis = -1;
  bool reverse = false, with_index = false, only_index = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &Sort::axis), param("reverse", &Sort::reverse),
                           param("with_index", &Sort::with_index), param("only_index", &Sort::only_index));
  }
  static constexpr Mask saves = 0;
  Tensor index;
  static constexpr auto stored() { return std::make_tuple(param("index", &Sort::index)); }
  std::vector<Tensor> infer(const Tensor& x) {
    wrap_axis(axis, x.dim());
    index = hollow(x.sizes(), at::kLong, x.device());
    return outputs_of(hollow(x), index, with_index, only_index);
  }
  std::vector<Tensor> forward(const Tensor& x) {
    Tensor y;
    std::tie(y, index) = at::sort(x, true, axis, reverse);
    return outputs_of(y, index, with_index, only_index);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (only_index || !value(c.gy()).defined()) return;
    c.grad(0, [&] { return scatter_along(c.gy(), c.saved(index), axis, c.in_sizes(0)); });
  }
};
CG_OP("sort", Sort, "x sorted along an axis, equal elements in their old order; optionally also the positions.")

// Unlike `max`, only the first of the largest elements gets the gradient.
struct Extreme {
  Axes axis;
  bool keepdims = false, smallest = false, with_index = false, only_index = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &Extreme::axis), param("keepdims", &Extreme::keepdims),
                           param("smallest", &Extreme::smallest), param("with_index", &Extreme::with_index),
                           param("only_index", &Extreme::only_index));
  }
  static constexpr Mask saves = 0;
  Tensor index;
  static constexpr auto stored() { return std::make_tuple(param("index", &Extreme::index)); }
  struct Layout {
    // The permutation that puts the reduced axes last, and its inverse; the sizes of x in that order; the sizes of y.
    Ints order, inverse, moved, result;
  };
  Layout layout(at::IntArrayRef sizes) const {
    const int64_t ndim = sizes.size();
    Ints axes = listed(axis, ndim);
    std::sort(axes.begin(), axes.end());
    Layout l;
    for (int64_t i = 0; i < ndim; ++i) {
      const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
      if (!reduced) l.order.push_back(i);
      if (!reduced || keepdims) l.result.push_back(reduced ? 1 : sizes[i]);
    }
    l.order.append(axes.begin(), axes.end());
    l.inverse.resize(ndim);
    for (int64_t i = 0; i < ndim; ++i) {
      l.inverse[l.order[i]] = i;
      l.moved.push_back(sizes[l.order[i]]);
    }
    return l;
  }
  Ints rows(const Layout& l) const {
    const int64_t n = c10::multiply_integers(l.result), all = c10::multiply_integers(l.moved);
    return {n, n == 0 ? 0 : all / n};
  }
  std::vector<Tensor> forward(const Tensor& x) {
    const Layout l = layout(x.sizes());
    const Tensor lines = at::reshape(at::permute(x, l.order), rows(l));
    Tensor y;
    std::tie(y, index) = smallest ? at::min(lines, 1, true) : at::max(lines, 1, true);
    return outputs_of(y.view(l.result), index.view(l.result), with_index, only_index);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (only_index || !value(c.gy()).defined()) return;
    c.grad(0, [&] {
      const Layout l = layout(c.in_sizes(0));
      const Ints r = rows(l);
      const T g = scatter_along(reshape(c.gy(), {r[0], 1}), c.saved(index), 1, r);
      return permute(reshape(g, l.moved), l.inverse);
    });
  }
};
CG_OP("extreme", Extreme,
      "Largest (smallest) element over axis; of equal ones the first gets the gradient and is the position.")

struct TopK {
  int64_t k = 1, base_axis = 1;
  bool abs = false, reduce = true, largest = true, with_index = false;
  static constexpr auto params() {
    return std::make_tuple(required("k", &TopK::k), param("abs", &TopK::abs), param("reduce", &TopK::reduce),
                           param("base_axis", &TopK::base_axis), param("largest", &TopK::largest),
                           param("with_index", &TopK::with_index));
  }
  static constexpr Mask saves = 0;
  Tensor index;
  static constexpr auto stored() { return std::make_tuple(param("index", &TopK::index)); }
  static Ints rows(at::IntArrayRef sizes, int64_t base_axis) {
    const int64_t a = wrap_base_axis(base_axis, sizes.size());
    TORCH_CHECK_VALUE(a >= 0 && a < static_cast<int64_t>(sizes.size()), "top_k: base_axis is ", base_axis,
                      ", but x has shape ", sizes);
    return {c10::multiply_integers(sizes.slice(0, a)), c10::multiply_integers(sizes.slice(a))};
  }
  static void check(int64_t k, int64_t elements) {
    TORCH_CHECK_VALUE(k > 0 && k <= elements, "top_k: k must be in [1, ", elements, "], the elements of a sample, not ",
                      k);
  }
  static Tensor positions(const Tensor& lines, int64_t k, bool abs, bool largest) {
    check(k, lines.size(1));
    return std::get<1>(at::topk(abs ? at::abs(lines) : lines, k, 1, largest, true));
  }
  Ints result(at::IntArrayRef sizes) const {
    TORCH_CHECK_VALUE(reduce || !with_index, "top_k_data: with_index needs reduce=True");
    Ints shape = ints(sizes.slice(0, wrap_base_axis(base_axis, sizes.size())));
    shape.push_back(k);
    return shape;
  }
  std::vector<Tensor> infer(const Tensor& x) {
    const Ints r = rows(x.sizes(), base_axis), shape = result(x.sizes());
    check(k, r[1]);
    index = hollow({r[0], k}, at::kLong, x.device());
    if (!reduce) return {hollow(x)};
    return outputs_of(hollow(shape, x), hollow(shape, index), with_index, false);
  }
  std::vector<Tensor> forward(const Tensor& x) {
    const Ints r = rows(x.sizes(), base_axis), shape = result(x.sizes());
    const Tensor lines = at::reshape(x, r);
    index = positions(lines, k, abs, largest);
    const Tensor picked = at::gather(lines, 1, index);
    if (!reduce) return {at::reshape(at::zeros(r, x.options()).scatter_(1, index, picked), x.sizes())};
    return outputs_of(at::reshape(picked, shape), at::reshape(index, shape), with_index, false);
  }
  // Without `reduce` the whole gradient is passed on, as in nnabla.
  template <class T>
  void backward(Ctx<T>& c) {
    if (!value(c.gy()).defined()) return;
    c.grad(0, [&] {
      if (!reduce) return c.gy();
      const Ints r = rows(c.in_sizes(0), base_axis);
      return reshape(scatter_along(reshape(c.gy(), {r[0], k}), c.saved(index), 1, r), c.in_sizes(0));
    });
  }
};
CG_OP("top_k", TopK, "The k largest (smallest) elements of each sample, in order; optionally also the positions.")

// Keeps the k largest elements of each sample. They are chosen at the first run; after that the function is linear.
struct TopKMask {
  int64_t k = 1, base_axis = 1;
  bool abs = false;
  static constexpr auto params() {
    return std::make_tuple(required("k", &TopKMask::k), param("abs", &TopKMask::abs),
                           param("base_axis", &TopKMask::base_axis));
  }
  static constexpr Mask saves = 0;
  Tensor mask;
  static constexpr auto stored() { return std::make_tuple(param("mask", &TopKMask::mask)); }
  Tensor infer(const Tensor& x) {
    TopK::check(k, TopK::rows(x.sizes(), base_axis)[1]);
    return mask = hollow(x);
  }
  Tensor forward(const Tensor& x) {
    const Ints r = TopK::rows(x.sizes(), base_axis);
    const Tensor index = TopK::positions(at::reshape(x, r), k, abs, true);
    mask = at::reshape(at::zeros(r, x.options()).scatter_(1, index, 1), x.sizes());
    return x * mask;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy() * c.saved(mask); });
  }
};
CG_OP("top_k_mask", TopKMask, "x with all but the k largest elements of each sample set to 0.")

struct TopKGrad {
  int64_t k = 1, base_axis = 1;
  bool abs = false;
  static constexpr auto params() {
    return std::make_tuple(required("k", &TopKGrad::k), param("abs", &TopKGrad::abs),
                           param("base_axis", &TopKGrad::base_axis));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const int64_t n = TopK::rows(x.sizes(), base_axis)[1];
    TORCH_CHECK_VALUE(k > 0 && k <= n, "top_k_grad: k must be in [1, ", n, "], the elements of a sample, not ", k);
    return x.clone();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(TopKMask{k, base_axis, abs}, c.gy()); });
  }
};
CG_OP("top_k_grad", TopKGrad, "x; only the k largest elements of each sample of its gradient are passed on.")

struct SearchSorted {
  bool right = false;
  static constexpr auto params() { return std::make_tuple(param("right", &SearchSorted::right)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& sorted, const Tensor& values) const {
    const auto others = [](const Tensor& t) { return t.sizes().slice(0, t.dim() - 1); };
    const bool fit = sorted.dim() > 0 && sorted.dim() == values.dim() && others(sorted) == others(values);
    return fit ? hollow(values) : Tensor();
  }
  Tensor forward(const Tensor& sorted, const Tensor& values) {
    return at::searchsorted(sorted.contiguous(), values.contiguous(), false, right).to(values.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    for (size_t i = 0; i < 2; ++i) c.grad(i, [&] { return T(at::zeros(c.in_sizes(i), c.gy().options())); });
  }
};
CG_OP("searchsorted", SearchSorted,
      "The positions at which values can be inserted so that the sequence stays sorted; the gradient is 0.")

struct Unique {
  std::optional<int64_t> axis;
  bool sorted = true, with_index = false, with_inverse = false, with_counts = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &Unique::axis), param("sorted", &Unique::sorted),
                           param("with_index", &Unique::with_index), param("with_inverse", &Unique::with_inverse),
                           param("with_counts", &Unique::with_counts));
  }
  static constexpr Mask saves = 0;
  Tensor first;  // the first position of each distinct slice
  static constexpr auto stored() { return std::make_tuple(param("first", &Unique::first)); }
  std::vector<Tensor> forward(const Tensor& x) {
    kernels::reads_values("unique", x);
    const Tensor lines = axis ? x : at::reshape(x, {-1});
    const int64_t a = axis.value_or(0);
    auto [y, inverse, counts] = at::unique_dim(lines, a, true, true, true);
    const Tensor places = at::arange(lines.size(a), inverse.options());
    first = at::full({counts.size(0)}, lines.size(a), inverse.options()).scatter_reduce_(0, inverse, places, "amin");
    if (!sorted) {  // in the order of first appearance
      const Tensor order = at::argsort(first),
                   rank = at::empty_like(order).scatter_(0, order, at::arange(order.size(0), order.options()));
      first = first.index_select(0, order);
      counts = counts.index_select(0, order);
      inverse = rank.index_select(0, inverse);
    }
    std::vector<Tensor> r{select_along(lines, first, a)};
    if (with_index) r.push_back(first);
    if (with_inverse) r.push_back(inverse);
    if (with_counts) r.push_back(counts);
    return r;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (!value(c.gy()).defined()) return;
    c.grad(0, [&] {
      const at::IntArrayRef sizes = c.in_sizes(0);
      if (axis) return add_along(c.gy(), c.saved(first), *axis, sizes[wrap_axis(*axis, sizes.size())]);
      return reshape(add_along(c.gy(), c.saved(first), 0, c10::multiply_integers(sizes)), sizes);
    });
  }
};
CG_OP("unique", Unique,
      "The distinct elements (slices along axis) of x, sorted or in the order of their first occurrence.")

}  // namespace
}  // namespace cg
