// Shapes: views, broadcasting and its transpose, casts, copies.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/real.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/unsqueeze.h>

#include "ops/unary.h"

namespace cg {
namespace {

CG_UNARY_WITH(Reshape, "reshape", required, Ints, shape, {}, 0, at::reshape(x, shape), reshape(c.gy(), c.in_sizes(0)),
              "Same elements in C order, new shape; one entry may be -1.")

struct Transpose {
  std::optional<Ints> axes;
  static constexpr auto params() { return std::make_tuple(param("axes", &Transpose::axes)); }
  static constexpr Mask saves = 0;
  Ints order(int64_t ndim) const {
    if (axes) return *axes;
    Ints r;
    for (int64_t i = ndim; i-- > 0;) r.push_back(i);
    return r;
  }
  Tensor forward(const Tensor& x) { return at::permute(x, order(x.dim())); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const Ints p = order(c.gy().dim());
      Ints inverse(p.size());
      for (size_t i = 0; i < p.size(); ++i) inverse[wrap_axis(p[i], p.size())] = i;
      return permute(c.gy(), inverse);
    });
  }
};
CG_OP("transpose", Transpose, "Permutes the axes; reverses them when axes is None.")

CG_UNARY_WITH(ExpandDims, "expand_dims", required, int64_t, axis, 0, 0, at::unsqueeze(x, axis),
              reshape(c.gy(), c.in_sizes(0)), "A new axis of length 1 at the given place.")

struct Squeeze {
  std::optional<Ints> axis;
  static constexpr auto params() { return std::make_tuple(param("axis", &Squeeze::axis)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    if (!axis) return at::squeeze(x);
    for (int64_t a : *axis)
      TORCH_CHECK_VALUE(x.size(a) == 1, "cannot squeeze axis ", a, " of a tensor of shape ", x.sizes(),
                        ": it is not 1");
    return at::squeeze(x, *axis);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return reshape(c.gy(), c.in_sizes(0)); });
  }
};
CG_OP("squeeze", Squeeze, "Without the given axes of length 1 (None: all of them).")

CG_UNARY_WITH(BroadcastTo, "broadcast_to", required, Ints, shape, {}, 0, broadcasted(x, shape),
              cg::sum_to(c.gy(), c.in_sizes(0)), "A view of x with NumPy's broadcasting to shape.")

CG_UNARY_WITH(SumTo, "sum_to", required, Ints, shape, {}, 0, cg::sum_to(x, shape), broadcast_to(c.gy(), c.in_sizes(0)),
              "Sums x to shape, the transpose of broadcasting.")

struct Cast {
  at::ScalarType dtype = at::kFloat;
  static constexpr auto params() { return std::make_tuple(required("dtype", &Cast::dtype)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return x.to(dtype); }
  template <class T>
  void backward(Ctx<T>& c) {
    if (at::isFloatingType(c.in_dtype(0))) c.grad(0, [&] { return cast(c.gy(), c.in_dtype(0)); });
  }
};
CG_OP("cast", Cast, "x in another dtype.")

CG_UNARY_WITH(Convert, "convert", required, at::ScalarType, dtype, at::kFloat, 0, x.to(dtype),
              run(Convert{c.in_dtype(0)}, c.gy()),
              "x in another dtype; integer dtypes have gradients, too, truncated to integers.")

CG_POINTWISE_UNARY(Identity, "identity", 0, x, c.gy(), "x itself, as the result of a function.")
CG_UNARY(Copy, "copy", 0, x.clone(), c.gy(), "A copy of x.")

}  // namespace

Var reshape(const Var& x, at::IntArrayRef shape) { return run(Reshape{ints(shape)}, x); }
Var permute(const Var& x, at::IntArrayRef axes) { return run(Transpose{ints(axes)}, x); }
Var transpose(const Var& x, int64_t a, int64_t b) {
  Ints axes;
  for (int64_t i = 0; i < x.dim(); ++i) axes.push_back(i);
  std::swap(axes[wrap_axis(a, x.dim())], axes[wrap_axis(b, x.dim())]);
  return permute(x, axes);
}
Var broadcast_to(const Var& x, at::IntArrayRef shape) { return run(BroadcastTo{ints(shape)}, x); }
Var sum_to(const Var& x, at::IntArrayRef shape) { return run(SumTo{ints(shape)}, x); }
Var cast(const Var& x, at::ScalarType dtype) { return run(Cast{dtype}, x); }
Tensor cast(const Tensor& x, at::ScalarType dtype) { return x.to(dtype); }

Tensor sum_to(const Tensor& x, at::IntArrayRef shape) {
  if (x.sizes() == shape) return x;
  const int64_t lead = x.dim() - static_cast<int64_t>(shape.size());
  Ints axes;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i < lead || (shape[i - lead] == 1 && x.size(i) != 1)) axes.push_back(i);
  Tensor y = axes.empty() ? x : at::sum(x, axes, true);
  return lead > 0 ? at::reshape(y, shape) : y;
}

// Raises an error for a gradient that cannot be summed to its input's shape, because the inputs of its op did not fit
// together.
static void check_fits(at::IntArrayRef given, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(at::is_expandable_to(sizes, given), "the gradient of an input of shape ", sizes, " has shape ",
                    given);
}
Tensor fit_slow(Tensor g, at::IntArrayRef sizes, at::ScalarType dtype) {
  check_fits(g.sizes(), sizes);
  if (g.is_complex() && !at::isComplexType(dtype)) g = at::real(g);
  if (g.scalar_type() != dtype) g = g.to(dtype);
  return cg::sum_to(g, sizes);
}
Var fit_slow(Var g, at::IntArrayRef sizes, at::ScalarType dtype) {
  check_fits(g.sizes(), sizes);
  if (g.scalar_type() != dtype) g = cast(g, dtype);
  return g.sizes() == sizes ? g : sum_to(g, sizes);
}

}  // namespace cg
