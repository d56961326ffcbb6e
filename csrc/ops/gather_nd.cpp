// Indexing of several axes by one tensor: gather_nd and scatter_nd.
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_fill.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "core/deferred.h"
#include "ops/gather.h"

namespace cg {
namespace {

// In the index tensor of gather_nd and scatter_nd, row m has positions on axis m. The indexed tensor is treated as a
// table of (positions, elements of a slice).
Ints table_of(at::IntArrayRef index_sizes, at::IntArrayRef sizes) {
  return {product(sizes.slice(0, index_sizes[0])), product(sizes.slice(index_sizes[0]))};
}
Tensor rows_of(const char* op, const Tensor& t, at::IntArrayRef sizes) {
  const int64_t m = t.size(0);
  const Tensor lines = at::reshape(longs(t), {m, product(t.sizes().slice(1))});
  Tensor rows;
  for (int64_t i = 0; i < m; ++i) {
    Tensor p = lines.select(0, i);
    check_index(op, p, -sizes[i], sizes[i]);
    p = at::where(p < 0, p + sizes[i], p);
    rows = i == 0 ? p : rows * sizes[i] + p;
  }
  return rows;
}
template <class T>
T rows_of(const char* op, const T& t, const Ints& sizes) {
  return frozen([op, sizes](const Tensor& t) { return rows_of(op, t, at::IntArrayRef(sizes)); }, t);
}

struct GatherNd : WithIndex {
  static Ints result(const Tensor& x, const Tensor& t) {
    TORCH_CHECK_VALUE(t.dim() >= 2, "gather_nd: indices must have at least 2 dimensions, not the shape ", t.sizes());
    TORCH_CHECK_VALUE(t.size(0) <= x.dim(), "gather_nd: indices of shape ", t.sizes(), " index ", t.size(0),
                      " axes, but x has shape ", x.sizes());
    Ints shape = ints(t.sizes().slice(1));
    shape.append(x.sizes().begin() + t.size(0), x.sizes().end());
    return shape;
  }
  Tensor infer(const Tensor& x, const Tensor& t) const { return hollow(result(x, t), x); }
  Tensor forward(const Tensor& x, const Tensor& t) {
    const Ints shape = result(x, t);
    const Tensor lines = at::reshape(x, table_of(t.sizes(), x.sizes()));
    return at::reshape(select_along(lines, rows_of("gather_nd", t, x.sizes()), 0), shape);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const Ints table = table_of(c.in_sizes(1), c.in_sizes(0));
      const T rows = rows_of("gather_nd", c.in(1), ints(c.in_sizes(0)));
      const T g = reshape(c.gy(), {product(c.in_sizes(1).slice(1)), table[1]});
      return reshape(add_along(g, rows, 0, table[0]), c.in_sizes(0));
    });
  }
};
CG_OP("gather_nd", GatherNd, "x[indices[0], indices[1], ...].")

struct ScatterNd {
  Ints shape;
  bool add = false;
  static constexpr auto params() {
    return std::make_tuple(required("shape", &ScatterNd::shape), param("add", &ScatterNd::add));
  }
  static constexpr Mask saves = in_bit(1);
  static constexpr Mask optional = in_bit(2);
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  void check(const Tensor& x, const Tensor& t) const {
    TORCH_CHECK_VALUE(t.dim() >= 2, "scatter_nd: indices must have at least 2 dimensions, not the shape ", t.sizes());
    const int64_t m = t.size(0), ndim = shape.size();
    bool fits = m <= ndim && x.dim() == t.dim() - 1 + ndim - m;
    for (int64_t i = 0; fits && i < x.dim(); ++i)
      fits = x.size(i) == (i < t.dim() - 1 ? t.size(i + 1) : shape[m + i - t.dim() + 1]);
    TORCH_CHECK_VALUE(fits, "scatter_nd: data of shape ", x.sizes(), " and indices of shape ", t.sizes(),
                      " do not fit the output shape ", at::IntArrayRef(shape));
  }
  // With `out`, data is written into it in place, its other elements are kept, and it is the result.
  Tensor forward(const Tensor& x, const Tensor& t, const Tensor& out) {
    check(x, t);
    Tensor y = out.defined() ? out : at::zeros(shape, x.options());
    TORCH_CHECK_VALUE(y.sizes() == at::IntArrayRef(shape), "scatter_nd: out has shape ", y.sizes(), ", not ",
                      at::IntArrayRef(shape));
    if (no_data(x)) return y;
    const Ints table = table_of(t.sizes(), shape);
    const Tensor rows = rows_of("scatter_nd", t, at::IntArrayRef(shape));
    const Tensor source = at::reshape(x, {rows.numel(), table[1]});
    Tensor lines = at::reshape(y, table);
    add ? lines.index_add_(0, rows, source) : lines.index_copy_(0, rows, source);
    if (!lines.is_alias_of(y)) y.copy_(lines.view(shape));
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const Ints table = table_of(c.in_sizes(1), shape);
    const T rows = rows_of("scatter_nd", c.in(1), shape);
    c.grad(0, [&] { return reshape(select_along(reshape(c.gy(), table), rows, 0), c.in_sizes(0)); });
    c.grad(2, [&] {
      if (add) return c.gy();
      const auto kept = [n = table[0], options = value(c.gy()).options()](const Tensor& r) {
        return at::ones({n, 1}, options).index_fill_(0, r, 0);
      };
      return reshape(reshape(c.gy(), table) * frozen(kept, rows), shape);
    });
  }
};
CG_OP("scatter_nd", ScatterNd, "Zeros of shape, or `out`, into which data is written (or added) at indices.")

}  // namespace
}  // namespace cg
