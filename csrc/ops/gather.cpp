// Indexing by tensors along one axis: gather, scatter_add and the ops that they consist of.
#include <ATen/ops/arange.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/zeros.h>

#include "core/deferred.h"
#include "kernels/trace.h"
#include "ops/gather.h"
#include "ops/index.h"

namespace cg {
namespace {

struct SelectAlong : WithIndex {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &SelectAlong::axis)); }
  Tensor forward(const Tensor& x, const Tensor& index) { return select_along(x, index, axis); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return add_along(c.gy(), c.in(1), axis, c.in_sizes(0)[wrap_axis(axis, c.in_sizes(0).size())]); });
  }
};
CG_OP("select_along", SelectAlong, "The slices of x along axis at the positions in a one-dimensional index.")

struct AddAlong : WithIndex {
  int64_t axis = 0, size = 0;
  static constexpr auto params() {
    return std::make_tuple(required("axis", &AddAlong::axis), required("size", &AddAlong::size));
  }
  Tensor infer(const Tensor& gy, const Tensor& index) const {
    if (gy.dim() == 0 || index.dim() != 1 || index.size(0) != gy.size(axis)) return {};
    Ints shape = ints(gy.sizes());
    shape[wrap_axis(axis, gy.dim())] = size;
    return hollow(shape, gy);
  }
  Tensor forward(const Tensor& gy, const Tensor& index) { return add_along(gy, index, axis, size); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return select_along(c.gy(), c.in(1), axis); });
  }
};
CG_OP("add_along", AddAlong,
      "Zeros with the given size along axis, to which the slices of gy are added at the positions in a one-dimensional "
      "index.")

// Whether `index` names elements of an array of `sizes` along an axis.
bool fits(const Tensor& index, at::IntArrayRef sizes, int64_t axis) {
  const int64_t ndim = sizes.size(), a = wrap_axis(axis, ndim);
  bool fit = index.dim() == ndim && ndim > 0;
  for (int64_t i = 0; fit && i < ndim; ++i) fit = i == a || index.size(i) <= sizes[i];
  return fit;
}

struct GatherAlong : WithIndex {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &GatherAlong::axis)); }
  Tensor infer(const Tensor& x, const Tensor& index) const {
    return fits(index, x.sizes(), axis) ? hollow(index.sizes(), x) : Tensor();
  }
  Tensor forward(const Tensor& x, const Tensor& index) { return gather_along(x, index, axis); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return scatter_along(c.gy(), c.in(1), axis, c.in_sizes(0)); });
  }
};
CG_OP("gather_along", GatherAlong, "x[i, index[i, j, k], k] along an axis, for an index with as many dimensions as x.")

struct ScatterAlong : WithIndex {
  int64_t axis = 0;
  Ints shape;
  static constexpr auto params() {
    return std::make_tuple(required("axis", &ScatterAlong::axis), required("shape", &ScatterAlong::shape));
  }
  Tensor infer(const Tensor& gy, const Tensor& index) const {
    return fits(index, shape, axis) && index.sizes() == gy.sizes() ? hollow(shape, gy) : Tensor();
  }
  Tensor forward(const Tensor& gy, const Tensor& index) { return scatter_along(gy, index, axis, shape); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return gather_along(c.gy(), c.in(1), axis); });
  }
};
CG_OP("scatter_along", ScatterAlong,
      "Zeros of shape, to which gy is added at the elements that gather_along would read.")

// The slices of x along an axis at a tensor of indices, which shares its first batch_dims axes with x.
struct Gather : WithIndex {
  int64_t axis = 0, batch_dims = 0;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &Gather::axis), param("batch_dims", &Gather::batch_dims));
  }

  // x as (rows, elements of a row), with one row per position of the axis, and the indices of the rows to read.
  int64_t place(at::IntArrayRef sizes) const { return wrap_axis(axis, sizes.size()); }
  Tensor rows(const Tensor& t, at::IntArrayRef sizes) const {
    const int64_t a = place(sizes), n = sizes[a], batch = product(sizes.slice(0, batch_dims)),
                  lead = product(sizes.slice(batch_dims, a - batch_dims));
    const Tensor starts = at::arange(batch * lead, t.options().dtype(at::kLong)).mul_(n).reshape({batch, lead, 1});
    return at::reshape(at::reshape(longs(t), {batch, 1, product(t.sizes().slice(batch_dims))}) + starts, {-1});
  }
  Ints table(at::IntArrayRef sizes) const {
    const int64_t a = place(sizes);
    return {product(sizes.slice(0, a + 1)), product(sizes.slice(a + 1))};
  }
  Ints result(const Tensor& t, at::IntArrayRef sizes) const {
    Ints r = ints(sizes.slice(0, place(sizes)));
    r.append(t.sizes().begin() + batch_dims, t.sizes().end());
    r.append(sizes.begin() + place(sizes) + 1, sizes.end());
    return r;
  }
  Tensor infer(const Tensor& x, const Tensor& t) const {
    check(x, t);
    return hollow(result(t, x.sizes()), x);
  }
  void check(const Tensor& x, const Tensor& t) const {
    const int64_t ndim = x.dim(), a = place(x.sizes());
    TORCH_CHECK_VALUE(a >= 0 && a < ndim, "gather: axis must be in [-", ndim, ", ", ndim, "), not ", axis);
    TORCH_CHECK_VALUE(batch_dims >= 0 && batch_dims <= a && batch_dims <= t.dim(), "gather: batch_dims is ", batch_dims,
                      ", but must not exceed axis (", a, ") nor the dimensions of indices (", t.dim(), ")");
    for (int64_t i = 0; i < batch_dims; ++i)
      TORCH_CHECK_VALUE(x.size(i) == t.size(i), "gather: x has shape ", x.sizes(), " and indices ", t.sizes(),
                        ": they must agree in the first ", batch_dims, " axes");
  }
  Tensor forward(const Tensor& x, const Tensor& t) {
    check(x, t);
    const int64_t a = place(x.sizes());
    check_index("gather", t, 0, x.size(a));
    if (batch_dims == 0) return at::reshape(select_along(x, at::reshape(t, {-1}), a), result(t, x.sizes()));
    return at::reshape(select_along(at::reshape(x, table(x.sizes())), rows(t, x.sizes()), 0), result(t, x.sizes()));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const Ints sizes = ints(c.in_sizes(0));
      const int64_t count = product(c.in_sizes(1));
      if (batch_dims == 0) {
        Ints line = sizes;
        line[place(sizes)] = count;
        return add_along(reshape(c.gy(), line), reshape(c.in(1), {-1}), place(sizes), sizes[place(sizes)]);
      }
      const T r = frozen([f = *this, sizes](const Tensor& t) { return f.rows(t, sizes); }, c.in(1));
      const Ints whole = table(sizes);
      return reshape(add_along(reshape(c.gy(), {-1, whole[1]}), r, 0, whole[0]), sizes);
    });
  }
};
CG_OP("gather", Gather, "The slices of x along axis at indices, which share their first batch_dims axes with x.")

// x0 with x1 added along an axis: y[index[i, j], j] += x1[i, j].
struct ScatterAddAlong {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &ScatterAddAlong::axis)); }
  static constexpr Mask saves = in_bit(1);
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr bool floors = true;  // as in nnabla, where -0.5 is out of range
  int64_t check(const Tensor& x0, const Tensor& t, const Tensor& x1) const {
    const int64_t a = wrap_axis(axis, x0.dim());
    TORCH_CHECK_VALUE(a >= 0 && a < x0.dim(), "scatter_add: axis is ", axis, ", but x0 has shape ", x0.sizes());
    bool fits = t.dim() == x0.dim() && x1.dim() == x0.dim();
    for (int64_t i = 0; fits && i < t.dim(); ++i) fits = t.size(i) <= x1.size(i) && (i == a || t.size(i) <= x0.size(i));
    TORCH_CHECK_VALUE(fits, "scatter_add: indices of shape ", t.sizes(), " do not fit into x0 of shape ", x0.sizes(),
                      " and x1 of shape ", x1.sizes());
    return a;
  }
  Tensor infer(const Tensor& x0, const Tensor& t, const Tensor& x1) const {
    check(x0, t, x1);
    return x0.scalar_type() == x1.scalar_type() ? hollow(x0) : Tensor();
  }
  Tensor forward(const Tensor& x0, const Tensor& t, const Tensor& x1) {
    const int64_t a = check(x0, t, x1);
    const Tensor index = longs(at::isFloatingType(t.scalar_type()) ? at::floor(t) : t);
    check_index("scatter_add", index, 0, x0.size(a));
    return at::scatter_add(x0, a, index, x1);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(2, [&] {
      const at::IntArrayRef sizes = c.in_sizes(1);
      const T g = gather_along(c.gy(), c.in(1), axis);
      if (sizes == c.in_sizes(2)) return g;
      Index corner;  // indices may be smaller than x1
      for (int64_t n : sizes) corner.push_back(IndexItem::slice(0, n));
      return get_item_grad(g, corner, c.in_sizes(2));
    });
  }
};
CG_OP("scatter_add_along", ScatterAddAlong, "x0 to which x1 is added at indices along an axis.")

}  // namespace

Tensor select_along(const Tensor& x, const Tensor& index, int64_t axis) {
  return at::index_select(x, axis, index.to(x.device(), at::kLong));
}
Var select_along(const Var& x, const Var& index, int64_t axis) { return run(SelectAlong{{}, axis}, x, index); }
Tensor add_along(const Tensor& gy, const Tensor& index, int64_t axis, int64_t size) {
  Ints shape = ints(gy.sizes());
  shape[wrap_axis(axis, gy.dim())] = size;
  return at::zeros(shape, gy.options()).index_add_(axis, index.to(gy.device(), at::kLong), gy);
}
Var add_along(const Var& gy, const Var& index, int64_t axis, int64_t size) {
  return run(AddAlong{{}, axis, size}, gy, index);
}
Tensor gather_along(const Tensor& x, const Tensor& index, int64_t axis) {
  return at::gather(x, axis, index.to(x.device(), at::kLong));
}
Var gather_along(const Var& x, const Var& index, int64_t axis) { return run(GatherAlong{{}, axis}, x, index); }
Tensor scatter_along(const Tensor& gy, const Tensor& index, int64_t axis, at::IntArrayRef shape) {
  return at::zeros(shape, gy.options()).scatter_add_(axis, index.to(gy.device(), at::kLong), gy);
}
Var scatter_along(const Var& gy, const Var& index, int64_t axis, at::IntArrayRef shape) {
  return run(ScatterAlong{{}, axis, ints(shape)}, gy, index);
}

void check_index(const char* op, const Tensor& index, int64_t low, int64_t size) {
  if (!index.is_cpu() || index.numel() == 0 || kernels::traced(index)) return;
  const int64_t least = index.min().item<int64_t>(), most = index.max().item<int64_t>();
  TORCH_CHECK_VALUE(low <= least && most < size, op, ": index ", least < low ? least : most, " is out of range: ", low,
                    " <= index < ", size);
}

}  // namespace cg
