// Indexing and its inverse, scattering.
#include <ATen/ops/remainder.h>

#include <algorithm>

#include "kernels/raw.h"
#include "kernels/trace.h"
#include "ops/index.h"

#include <ATen/core/List.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/select.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/unbind.h>
#include <ATen/ops/unsqueeze.h>
#include <ATen/ops/zeros.h>

namespace cg {
namespace {

using Kind = IndexItem::Kind;

// An index applied to a tensor: a view of the tensor, then arrays that index the view, then axes to be reversed.
struct Selection {
  Tensor view;
  std::vector<std::optional<Tensor>> arrays;
  bool advanced = false;
  Ints reversed;  // axes of the result
  Ints inserted;  // axes of length 1 that are removed from the result
  c10::List<std::optional<Tensor>> list() const { return c10::List<std::optional<Tensor>>(arrays); }
  // The entries of one axis in another order, of large arrays: index_select copies each entry at once, where at::index
  // computes the place of each element. Undefined for other indices, among them those from the end.
  Tensor entries() const {
    const auto is_array = [](const std::optional<Tensor>& a) { return a && a->defined(); };
    const auto array = std::find_if(arrays.begin(), arrays.end(), is_array);
    if (view.numel() < 4096 || !kernels::plain(view) || !view.is_cpu() || array == arrays.end() ||
        std::find_if(array + 1, arrays.end(), is_array) != arrays.end())
      return {};
    const Tensor& places = **array;
    const int64_t axis = array - arrays.begin();
    if (places.dim() != 1 || places.numel() == 0 || !kernels::plain(places) ||
        !(places.scalar_type() == at::kLong || places.scalar_type() == at::kInt))
      return {};
    const auto [least, largest] = at::aminmax(places);
    if (least.item<int64_t>() < 0 || largest.item<int64_t>() >= view.size(axis)) return {};
    return at::index_select(view, axis, places);
  }
  Tensor pick() const {
    Tensor y = advanced ? entries() : view;
    if (!y.defined()) y = at::index(view, list());
    if (!reversed.empty()) y = at::flip(y, reversed);
    for (int64_t a : inserted) y = at::squeeze(y, a);
    return y;
  }
  void put(Tensor b, bool accumulate) const {
    for (int64_t a : inserted) b = at::unsqueeze(b, a);
    if (!reversed.empty()) b = at::flip(b, reversed);
    if (advanced)
      at::index_put_(const_cast<Tensor&>(view), list(), b, true);
    else if (accumulate)
      view.add_(b);
    else
      view.copy_(b);
  }
};

int64_t axes_of(const IndexItem& item) {
  switch (item.kind) {
    case Kind::None:
    case Kind::Ellipsis:
      return 0;
    case Kind::Int:
    case Kind::Slice:
      return 1;
    case Kind::Tensor:
      return item.tensor.scalar_type() == at::kBool ? item.tensor.dim() : 1;
  }
  return 0;
}

// The positions where a mask is true, one row per position. `x` is the indexed tensor: if it is a tracer's proxy, a
// mask computed in the trace is a proxy, too (and refused), and any other mask is a constant.
Tensor marked(const Tensor& mask, const Tensor& x) {
  if (kernels::symbolic(mask)) kernels::reads_values("get_item by a mask", mask);
  const auto places = [&] { return at::nonzero(mask.dim() ? mask : at::reshape(mask, {1})); };
  return kernels::symbolic(x) ? at::lift_fresh(kernels::untraced(places)) : places();
}

// `item` as integers, or as a mask with at least one axis.
Tensor index_array(const IndexItem& item, const Tensor& x) {
  const at::Device device = x.device();
  if (item.kind == Kind::Int) return at::full({}, *item.start, at::TensorOptions(at::kLong).device(device));
  Tensor t = item.tensor.to(device);
  if (kernels::symbolic(x) && !kernels::symbolic(t) && t.scalar_type() != at::kBool) t = at::lift_fresh(t);
  switch (t.scalar_type()) {
    case at::kLong:
    case at::kInt:
      return t;
    case at::kBool:
      // NumPy accepts an empty index array for an axis of any length
      if (t.dim() == 1 && t.numel() == 0) return t.to(at::kLong);
      if (t.dim() == 0) return at::select(marked(t, x), 1, 0);
      return t;
    default:
      TORCH_CHECK_INDEX(at::isIntegralType(t.scalar_type(), false),
                        "arrays used as indices must be of integer or boolean type");
  }
  return t.to(at::kLong);  // ATen would treat uint8 as a mask
}

// For a slice with a negative step, the slice with the positive step over the same elements.
Tensor slice_backwards(const Tensor& x, int64_t axis, const IndexItem& s) {
  const int64_t n = x.size(axis), step = -s.step;
  const auto bound = [&](std::optional<int64_t> v, int64_t otherwise) {
    return v ? std::clamp<int64_t>(*v < 0 ? *v + n : *v, -1, n - 1) : otherwise;
  };
  const int64_t first = bound(s.start, n - 1), end = bound(s.stop, -1);
  if (first <= end) return at::slice(x, axis, 0, 0);
  return at::slice(x, axis, first - (first - end - 1) / step * step, first + 1, step);
}

Selection select(const Tensor& x, const Index& index) {
  Selection s;
  s.view = x;
  int64_t used = 0, ellipses = 0;
  for (const IndexItem& item : index) {
    used += axes_of(item);
    ellipses += item.kind == Kind::Ellipsis;
    s.advanced |= item.kind == Kind::Tensor;
  }
  TORCH_CHECK_INDEX(ellipses <= 1, "an index can only have a single ellipsis ('...')");
  TORCH_CHECK_INDEX(used <= x.dim(), "too many indices: the array is ", x.dim(), "-dimensional, but ", used,
                    " were indexed");
  // State of the loop over the items: the current axis of `view`, and the numbers of axes that no array indexes.
  int64_t axis = 0, kept = 0, array_axes = 0, before_arrays = 0;
  bool apart = false, seen_array = false, left_arrays = false;
  Ints reversed, inserted;
  const auto keep = [&](int64_t count) {
    for (int64_t i = 0; s.advanced && i < count; ++i) s.arrays.push_back(std::nullopt);
    axis += count;
    kept += count;
    left_arrays |= seen_array && count > 0;
  };
  for (const IndexItem& item : index) {
    switch (item.kind) {
      case Kind::None:
        s.view = at::unsqueeze(s.view, axis);
        keep(1);
        break;
      case Kind::Ellipsis:
        // Arrays on both sides of an ellipsis count as separated even if the ellipsis stands for no axis.
        if (s.advanced && x.dim() == used) {
          s.view = at::unsqueeze(s.view, axis);
          inserted.push_back(kept);
        }
        keep(s.advanced && x.dim() == used ? 1 : x.dim() - used);
        break;
      case Kind::Slice:
        if (item.step < 0) {
          s.view = slice_backwards(s.view, axis, item);
          reversed.push_back(kept);
        } else if (item.start || item.stop || item.step != 1) {
          s.view = at::slice(s.view, axis, item.start, item.stop, item.step);
        }
        keep(1);
        break;
      case Kind::Int:
        if (!s.advanced) {
          s.view = at::select(s.view, axis, *item.start);
          break;
        }
        [[fallthrough]];
      case Kind::Tensor: {
        Tensor t = index_array(item, x);
        if (item.kind == Kind::Tensor && item.tensor.dim() == 0 && item.tensor.scalar_type() == at::kBool)
          s.view = at::unsqueeze(s.view, axis);
        const bool mask = t.scalar_type() == at::kBool;
        axis += mask ? t.dim() : 1;
        array_axes = std::max<int64_t>(array_axes, mask ? 1 : t.dim());
        if (!seen_array) before_arrays = kept;
        apart |= left_arrays;
        seen_array = true;
        if (mask && (kernels::symbolic(t) || kernels::symbolic(x)))
          for (Tensor& places : at::unbind(marked(t, x), 1)) s.arrays.push_back(std::move(places));
        else
          s.arrays.push_back(std::move(t));
        break;
      }
    }
  }
  // The axes of index arrays are placed at the position of the first array, or in front if the arrays are separated.
  const auto placed = [&](int64_t k) { return seen_array && (apart || k >= before_arrays) ? k + array_axes : k; };
  for (int64_t k : reversed) s.reversed.push_back(placed(k));
  for (int64_t k : inserted) s.inserted.push_back(placed(k));
  return s;
}

struct GetItem {
  Index index;
  c10::DimVector strides;  // of x if its axes are permuted: there the gradient needs no copy to be permuted back
  static constexpr auto stored() { return std::make_tuple(param("index", &GetItem::index)); }
  static constexpr auto params() { return std::make_tuple(required("index", &GetItem::index)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    if (!x.is_contiguous() && x.is_non_overlapping_and_dense()) strides.assign(x.strides().begin(), x.strides().end());
    return get_item(x, index);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (c.needs(0) && given_as_part(c)) return;
    c.grad(0, [&] { return get_item_grad(c.gy(), index, c.in_sizes(0)); });
  }
  // Whether the index is a range of one axis, and the pass adds the gradient to those of other ranges.
  bool given_as_part(Ctx<Tensor>& c) const {
    const at::IntArrayRef sizes = c.in_sizes(0);
    if (!c.gy().defined() || kernels::traced(c.gy()) || index.size() > sizes.size()) return false;
    int64_t axis = -1, begin = 0;
    for (size_t a = 0; a < index.size(); ++a) {
      const IndexItem& item = index[a];
      const int64_t n = sizes[a];
      if (item.kind == Kind::Slice && item.step == 1) {
        if (!item.start && !item.stop) continue;
        begin = std::clamp<int64_t>(item.start.value_or(0) + (item.start.value_or(0) < 0 ? n : 0), 0, n);
      } else if (item.kind == Kind::Int) {
        begin = *item.start + (*item.start < 0 ? n : 0);
      } else {
        return false;
      }
      if (axis >= 0) return false;
      axis = a;
    }
    if (axis < 0) return false;
    const Tensor g = index[axis].kind == Kind::Int ? c.gy().unsqueeze(axis) : c.gy();
    return c.part(0, {axis, begin, g, strides});
  }
};
CG_OP("get_item", GetItem, "x[index] as NumPy reads it.")

struct GetItemGrad {
  Index index;
  static constexpr auto stored() { return std::make_tuple(param("index", &GetItemGrad::index)); }
  Ints shape;
  static constexpr auto params() {
    return std::make_tuple(required("index", &GetItemGrad::index), required("shape", &GetItemGrad::shape));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& gy) { return get_item_grad(gy, index, shape); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return get_item(c.gy(), index); });
  }
};
CG_OP("get_item_grad", GetItemGrad, "Zeros of shape, to which gy is added at index.")

struct ScatterAdd {
  Index index;
  static constexpr auto stored() { return std::make_tuple(param("index", &ScatterAdd::index)); }
  static constexpr auto params() { return std::make_tuple(required("index", &ScatterAdd::index)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = a.clone();
    select(y, index).put(b, true);
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] { return get_item(c.gy(), index); });
  }
};
CG_OP("scatter_add", ScatterAdd, "A copy of a, to which b is added at index.")

// x[0, t[0]], x[1, t[1]], ...
Index by_row(const Tensor& t) {
  const Tensor rows = at::arange(t.size(0), t.options().dtype(at::kLong));
  return {IndexItem::array(rows), IndexItem::array(t)};
}

struct SelectItem {
  static constexpr Mask saves = in_bit(1);
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& t) { return get_item(x, by_row(t)); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      if (known(c.in(1)).defined()) return get_item_grad(c.gy(), by_row(known(c.in(1))), c.in_sizes(0));
      const int64_t n = c.in_sizes(0)[1];
      return reshape(c.gy(), {c.in_sizes(0)[0], 1}) *
             frozen([n](const Tensor& t) { return at::remainder(t, n).unsqueeze(1) == at::arange(n, t.options()); },
                    c.in(1));
    });
  }
};
CG_OP("select_item", SelectItem, "One element of each row: x[i, t[i]].")

}  // namespace

Tensor get_item(const Tensor& x, const Index& index) { return select(x, index).pick(); }
Var get_item(const Var& x, const Index& index) { return run(GetItem{index}, x); }

Tensor get_item_grad(const Tensor& gy, const Index& index, at::IntArrayRef shape) {
  Tensor gx = at::zeros(shape, gy.options());
  select(gx, index).put(gy, false);
  return gx;
}
Var get_item_grad(const Var& gy, const Index& index, at::IntArrayRef shape) {
  return run(GetItemGrad{index, ints(shape)}, gy);
}

}  // namespace cg
