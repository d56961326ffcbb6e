// Cumulative sums and products, and products, whose derivatives need cumulative products.
#include <ATen/ops/addcmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/unbind.h>

#include <algorithm>

#include "core/deferred.h"
#include "ops/axes.h"
#include "ops/index.h"

namespace cg {
namespace {

// Without an axis the elements are flattened in C order.
template <class T>
T in_line(const T& x, const std::optional<int64_t>& axis) {
  return axis ? x : reshape(x, {-1});
}
int64_t position(const std::optional<int64_t>& axis, int64_t ndim) { return axis ? wrap_axis(*axis, ndim) : 0; }

// The dtype of sums and products of x.
at::ScalarType dtype_of(const Tensor& x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/true) ? at::kLong : x.scalar_type();
}
Tensor infer_in_line(const Tensor& x, const std::optional<int64_t>& axis) {
  position(axis, x.dim());
  return hollow(axis ? x.sizes() : at::IntArrayRef(x.numel()), dtype_of(x), x.device());
}

// 1, y[0], y[1], ... without the last element: the value before each element.
template <class T>
T shift_in_one(const T& y, int64_t axis) {
  Ints one = ints(y.sizes());
  one[axis] = 1;
  const T parts[] = {T(at::ones(one, y.options())), get_item(y, along(axis, std::nullopt, -1))};
  return concat(parts, axis);
}

// Each sum of float16 is rounded before the next term is added, as NumPy and MXNet do; ATen keeps float32 in between.
Tensor cumsum_rounded(const Tensor& x, int64_t axis) {
  Tensor y = x.clone();
  for (int64_t i = 1; i < y.size(axis); ++i) y.select(axis, i).add_(y.select(axis, i - 1));
  return y;
}

struct CumSum {
  std::optional<int64_t> axis;
  static constexpr auto params() { return std::make_tuple(param("axis", &CumSum::axis)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const { return infer_in_line(x, axis); }
  Tensor forward(const Tensor& x) {
    const int64_t a = position(axis, x.dim());
    const Tensor line = in_line(x, axis);
    return line.scalar_type() == at::kHalf && line.is_cpu() && line.dim() ? cumsum_rounded(line, a)
                                                                          : at::cumsum(line, a);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const int64_t a = position(axis, c.gy().dim());
      const T g = flip(cumsum(flip(c.gy(), a), a), a);
      return axis ? g : reshape(g, c.in_sizes(0));
    });
  }
};
CG_OP("cumsum", CumSum, "Cumulative sum along axis (None: over all elements in C order).")

template <class T>
T linear_scan(const T& a, const T& b, int64_t axis);

struct LinearScan {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &LinearScan::axis)); }
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  void check(const Tensor& a, const Tensor& b) const {
    TORCH_CHECK_VALUE(b.dim() > 0, "linear_scan: b must have an axis");
    Ints before = ints(b.sizes());
    if (int64_t& length = before[wrap_axis(axis, b.dim())]; length-- == 0) return;
    TORCH_CHECK_VALUE(a.sizes() == at::IntArrayRef(before), "linear_scan: for b of shape ", b.sizes(),
                      " a must have shape ", before, ", not ", a.sizes());
  }
  Tensor infer(const Tensor& a, const Tensor& b) const {
    check(a, b);
    return hollow(b);
  }
  Tensor forward(const Tensor& a, const Tensor& b) {
    check(a, b);
    if (b.size(axis) == 0) return b.clone();
    std::vector<Tensor> as = at::unbind(a, axis), ys = at::unbind(b, axis);
    for (size_t i = 1; i < ys.size(); ++i) ys[i] = at::addcmul(ys[i], as[i - 1], ys[i - 1]);
    return at::stack(ys, axis);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const int64_t k = wrap_axis(axis, c.gy().dim());
    const T gb = flip(linear_scan(flip(c.in(0), k), flip(c.gy(), k), k), k);
    c.grad(0, [&] { return get_item(gb, along(k, 1, std::nullopt)) * get_item(c.out(0), along(k, std::nullopt, -1)); });
    c.grad(1, [&] { return gb; });
  }
};
CG_OP("linear_scan", LinearScan, "y[0] = b[0], y[i] = a[i - 1] * y[i - 1] + b[i] along axis; a is one shorter than b.")

template <class T>
T linear_scan(const T& a, const T& b, int64_t axis) {
  return run(LinearScan{axis}, a, b);
}

struct CumProd {
  std::optional<int64_t> axis;
  static constexpr auto params() { return std::make_tuple(param("axis", &CumProd::axis)); }
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor infer(const Tensor& x) const { return infer_in_line(x, axis); }
  Tensor forward(const Tensor& x) { return at::cumprod(in_line(x, axis), position(axis, x.dim())); }
  // gx[i] = y[i - 1] * (gy[i] + x[i + 1] * gy[i + 1] + x[i + 1] * x[i + 2] * gy[i + 2] + ...): exact where elements are
  // 0.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const int64_t a = position(axis, c.gy().dim());
      const T y = c.out(0);
      T g = c.gy();
      if (y.size(a) > 1) {
        const T x = get_item(in_line(c.in(0), axis), along(a, 1, std::nullopt));
        g = shift_in_one(y, a) * flip(linear_scan(flip(x, a), flip(g, a), a), a);
      }
      return axis ? g : reshape(g, c.in_sizes(0));
    });
  }
};
CG_OP("cumprod", CumProd, "Cumulative product along axis (None: over all elements in C order).")

struct Prod {
  CG_REDUCTION_PARAMS(Prod)
  static constexpr Mask saves = in_bit(0);
  Tensor infer(const Tensor& x) const {
    const bool all_kept = listed(axis, x.dim()).empty();
    return all_kept ? x : hollow(reduced_sizes(x.sizes(), axis, keepdims), dtype_of(x), x.device());
  }
  Tensor forward(const Tensor& x) {
    if (none(axis)) return x.clone();
    Ints axes = listed(axis, x.dim());
    std::sort(axes.begin(), axes.end(), std::greater<>());  // ATen reduces one axis at a time
    Tensor y = axes.empty() ? x.clone() : x;
    for (int64_t a : axes) y = at::prod(y, a, keepdims);
    return y;
  }
  // The gradient of each element is the product of all others, computed without division because elements may be 0.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const at::IntArrayRef sizes = c.in_sizes(0);
      if (value(c.in(0)).numel() == 0) return zeros_as(c.in(0));
      const Ints axes = listed(axis, sizes.size());
      Ints order, shape, inverse(sizes.size());
      for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i)
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
      const int64_t last = order.size();
      order.append(axes.begin(), axes.end());
      for (size_t i = 0; i < order.size(); ++i) {
        inverse[order[i]] = i;
        shape.push_back(sizes[order[i]]);
      }
      Ints rows(shape.begin(), shape.begin() + last);
      rows.push_back(reduced_elements(sizes, axis));
      const T x = reshape(permute(c.in(0), order), rows);
      const T others =
          shift_in_one(cumprod(x, last), last) * flip(shift_in_one(cumprod(flip(x, last), last), last), last);
      return permute(reshape(others, shape), inverse) * restore_axes(c.gy(), sizes, axis, keepdims);
    });
  }
};
CG_OP("prod", Prod, "Product over axis (None: all).")

}  // namespace

Var cumsum(const Var& x, int64_t axis) { return run(CumSum{axis}, x); }
Var cumprod(const Var& x, int64_t axis) { return run(CumProd{axis}, x); }

}  // namespace cg
