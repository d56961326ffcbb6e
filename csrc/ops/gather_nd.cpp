// Indexing of several axes by one tensor: gather_nd and scatter_nd.
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_fill.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cstring>

#include "core/deferred.h"
#include "ops/few.h"
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

// Calls f(place, row) for each position that the indices name, if these are ordinary numbers in main memory and in
// range. Returns false otherwise: then ATen has to compute, and raises the error. These loops replace a dozen of ATen's
// calls, which compare and add indices.
template <class F>
bool each_row(const Tensor& t, at::IntArrayRef sizes, F&& f) {
  if (t.scalar_type() != at::kLong || !t.device().is_cpu() || !kernels::plain(t) || !t.is_contiguous()) return false;
  const int64_t m = t.size(0), n = m == 0 ? 0 : t.numel() / m;
  if (n == 0) return false;
  const int64_t* const p = t.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (p[i * n + j] < -sizes[i] || p[i * n + j] >= sizes[i]) return false;
  for (int64_t j = 0; j < n; ++j) {
    int64_t row = 0;
    for (int64_t i = 0; i < m; ++i) {
      const int64_t k = p[i * n + j];
      row = row * sizes[i] + (k < 0 ? k + sizes[i] : k);
    }
    f(j, row);
  }
  return true;
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
    const Ints shape = result(x, t), table = table_of(t.sizes(), x.sizes());
    if (few::ordinary(x) && few::nobody_watches()) {
      const Tensor y = few::empty(shape, x);
      const size_t bytes = table[1] * x.element_size();
      const char* const from = static_cast<const char*>(x.const_data_ptr());
      char* const to = static_cast<char*>(y.mutable_data_ptr());
      const bool done =
          bytes == sizeof(float)
              ? each_row(t, x.sizes(), [=](int64_t j, int64_t row) { std::memcpy(to + 4 * j, from + 4 * row, 4); })
              : each_row(t, x.sizes(), [=](int64_t j, int64_t row) {
                  if (bytes) std::memcpy(to + j * bytes, from + row * bytes, bytes);
                });
      if (done) return y;
    }
    const Tensor lines = at::reshape(x, table);
    return at::reshape(select_along(lines, rows_of("gather_nd", t, x.sizes()), 0), shape);
  }
  // The rows of gy added to those of zeros that the indices name; an undefined tensor if ATen has to add.
  static Tensor added(const Tensor& gy, const Tensor& t, at::IntArrayRef sizes, int64_t length) {
    if (!few::ordinary(gy) || !few::nobody_watches()) return {};
    const Tensor gx = few::empty(sizes, gy);
    std::memset(gx.mutable_data_ptr(), 0, gx.nbytes());
    const bool done = kernels::with_dtype(gy, [&]<class T>(T) {
      const T* const from = gy.const_data_ptr<T>();
      T* const to = gx.mutable_data_ptr<T>();
      return each_row(t, sizes, [=](int64_t j, int64_t row) {
        for (int64_t i = 0; i < length; ++i) to[row * length + i] += from[j * length + i];
      });
    });
    return done ? gx : Tensor();
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const Ints table = table_of(c.in_sizes(1), c.in_sizes(0));
      if constexpr (std::is_same_v<T, Tensor>) {
        const Tensor gx = added(c.gy(), c.in(1), c.in_sizes(0), table[1]);
        if (gx.defined()) return gx;
      }
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
