// Indexing and its inverse, scattering.
#include <ATen/ops/remainder.h>

#include <algorithm>

#include "kernels/raw.h"
#include "kernels/trace.h"
#include "ops/selection.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/unsqueeze.h>
#include <ATen/ops/zeros.h>

namespace cg {
namespace {

using Kind = IndexItem::Kind;

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
