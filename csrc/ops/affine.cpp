// The fully connected layer in nnabla's layout: weights of shape (in, *out), data flattened from base_axis on.
#include <ATen/ops/addmm.h>

#include "core/deferred.h"
#include "ops/dense_product.h"
#include "ops/row_sums.h"

namespace cg {
namespace {

struct Affine {
  int64_t base_axis = 1;
  static constexpr auto params() { return std::make_tuple(param("base_axis", &Affine::base_axis)); }
  static constexpr Mask optional = in_bit(2);
  Mask saves_for(c10::ArrayRef<bool> needs) const { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }

  // The shape (rows, columns) of a tensor whose first `axes` axes are the rows.
  static Ints matrix(at::IntArrayRef sizes, int64_t axes) {
    Ints r{1, 1};
    for (int64_t k = 0; k < int64_t(sizes.size()); ++k) r[k >= axes] *= sizes[k];
    return r;
  }
  static void check(at::IntArrayRef x, at::IntArrayRef w, const Tensor& b, int64_t axis) {
    TORCH_CHECK(w.size() >= 2, "affine: weight must have at least 2 axes, not shape ", w);
    TORCH_CHECK(axis >= 0 && axis < int64_t(x.size()), "affine: base_axis must be an axis of x of shape ", x, ", not ",
                axis);
    const int64_t columns = matrix(x, axis)[1];
    TORCH_CHECK(columns == w[0], "affine: x of shape ", x, " has ", columns, " elements from axis ", axis,
                " on, but weight has shape ", w);
    TORCH_CHECK(!b.defined() || b.sizes() == w.slice(1), "affine: bias must have shape ", w.slice(1), ", not ",
                b.defined() ? b.sizes() : at::IntArrayRef());
  }
  Tensor infer(const Tensor& x, const Tensor& w, const Tensor& b) const {
    const int64_t axis = wrap_base_axis(base_axis, x.dim());
    check(x.sizes(), w.sizes(), b, axis);
    Ints sizes = ints(x.sizes().slice(0, axis));
    sizes.append(w.sizes().begin() + 1, w.sizes().end());
    return hollow(sizes, x.scalar_type(), x.device());
  }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    const int64_t axis = wrap_base_axis(base_axis, x.dim());
    check(x.sizes(), w.sizes(), b, axis);
    const Tensor a = shaped(x, matrix(x.sizes(), axis)), m = shaped(w, matrix(w.sizes(), 1));
    const Tensor bias = b.defined() ? shaped(b, {m.size(1)}) : b;
    Tensor y = fast_product(a, m, bias);
    if (!y.defined()) y = b.defined() ? at::addmm(bias, a, m) : at::matmul(a, m);
    Ints sizes = ints(x.sizes().slice(0, axis));
    sizes.append(w.sizes().begin() + 1, w.sizes().end());
    return shaped(y, sizes);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const at::IntArrayRef x = c.in_sizes(0);
    const Ints xm = matrix(x, wrap_base_axis(base_axis, x.size())), wm = matrix(c.in_sizes(1), 1);
    const T gy = shaped(c.gy(), {xm[0], wm[1]});
    c.grad(0, [&] { return shaped(turned_product(gy, shaped(c.in(1), wm)), x); });
    if (c.needs(1)) c.template grad_of_rows<ProductOfRows>(1, shaped(c.in(0), xm), gy);
    c.template grad_of_rows<TotalOfRows>(2, T(), gy);
  }
};
CG_OP("affine", Affine,
      "x @ w + b for w (in, *out), b (*out): the axes of x from base_axis on are joined to one of length in, and "
      "become *out.")

}  // namespace
}  // namespace cg
