#include "ops/selection.h"

#include <ATen/ops/aminmax.h>
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

#include <algorithm>

#include "kernels/only_shape.h"
#include "kernels/trace.h"

namespace cg {
namespace {

using Kind = IndexItem::Kind;

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

}  // namespace

Tensor Selection::entries() const {
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
Tensor Selection::pick() const {
  Tensor y = advanced ? entries() : view;
  if (!y.defined()) y = at::index(view, list());
  if (!reversed.empty() && !kernels::only_shape(y)) y = at::flip(y, reversed);
  for (int64_t a : inserted) y = at::squeeze(y, a);
  return y;
}
void Selection::put(Tensor b, bool accumulate) const {
  for (int64_t a : inserted) b = at::unsqueeze(b, a);
  if (!reversed.empty()) b = at::flip(b, reversed);
  if (advanced)
    at::index_put_(const_cast<Tensor&>(view), list(), b, true);
  else if (accumulate)
    view.add_(b);
  else
    view.copy_(b);
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

}  // namespace cg
