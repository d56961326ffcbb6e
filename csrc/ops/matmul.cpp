// Products of matrices and vectors.
#include <ATen/ops/linear.h>

#include "kernels/row_copy.h"
#include "kernels/trace.h"
#include "ops/dense_product.h"
#include "ops/row_sums.h"

namespace cg {
namespace {

struct MatMul {
  bool transa = false, transb = false;  // swap the last two axes first; vectors are not changed
  static constexpr auto params() {
    return std::make_tuple(param("transa", &MatMul::transa), param("transb", &MatMul::transb));
  }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }
  static Tensor turned(const Tensor& x, bool swap) {
    if (x.dim() < 2) return x;
    const Tensor y = x.transpose(-1, -2);
    // at::matmul copies batches with several axes that lie apart, slowly if it reads rows as columns.
    const bool copied = x.dim() > 3 && x.is_cpu() && !kernels::traced(x) && !x.is_contiguous() && !y.is_contiguous();
    if (!copied) return swap ? y : x;
    const bool columns = x.stride(-1) != 1 && x.stride(-2) == 1;
    const Tensor z = kernels::contiguous(columns ? y : x);
    return columns == swap ? z : z.transpose(-1, -2);
  }
  static Tensor product(const Tensor& a, bool transa, const Tensor& b, bool transb) {
    return MatMul{transa, transb}.forward(a, b);
  }
  static Var product(const Var& a, bool transa, const Var& b, bool transb) { return run(MatMul{transa, transb}, a, b); }
  Tensor forward(const Tensor& a, const Tensor& b) { return dense_product(turned(a, transa), turned(b, transb)); }
  // Vectors are treated as matrices of one row or one column; the pass sums over broadcast batch axes. Factors are
  // transposed by the flags of a product: the gradient of a transposed factor would be transposed itself, and is slow
  // to add to another one.
  template <class T>
  void backward(Ctx<T>& c) {
    const at::IntArrayRef sa = c.in_sizes(0), sb = c.in_sizes(1);
    if (sa.size() == 1 && sb.size() == 1) {
      c.grad(0, [&] { return c.gy() * c.in(1); });
      c.grad(1, [&] { return c.gy() * c.in(0); });
      return;
    }
    const bool ta = transa && sa.size() > 1, tb = transb && sb.size() > 1;
    T gy = c.gy();
    if (sa.size() == 1 || sb.size() == 1) {
      Ints s = ints(gy.sizes());
      s.insert(sa.size() == 1 ? s.end() - 1 : s.end(), 1);
      gy = reshape(gy, s);
    }
    c.grad(0, [&]() -> T {
      T b = c.in(1);
      if (sb.size() == 1) b = reshape(b, {sb[0], 1});
      // gy b^T, or its transpose if a was transposed
      const T g = ta ? product(b, tb, gy, true) : product(gy, false, b, !tb);
      return sa.size() == 1 ? cg::sum_to(g, {1, sa[0]}) : g;
    });
    if (sa.size() == 2 && sb.size() == 2 && !transa) {
      if (c.needs(1)) {
        const T a = c.in(0);
        c.template grad_of_rows<ProductOfRows>(1, transb ? gy : a, transb ? a : gy);
      }
      return;
    }
    c.grad(1, [&]() -> T {
      T a = c.in(0);
      if (sa.size() == 1) a = reshape(a, {1, sa[0]});
      const T g = tb ? product(gy, true, a, ta) : product(a, !ta, gy, false);
      if (sb.size() > 1) return g;
      return reshape(cg::sum_to(g, {sb[0], 1}), {sb[0]});
    });
  }
};
CG_OP("matmul", MatMul, "NumPy's matmul: vectors, matrices, batches with broadcasting.")

struct Linear {
  static constexpr Mask optional = in_bit(2);
  Mask saves_for(c10::ArrayRef<bool> needs) const { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) {
    // Torch's shape function with a bias would import torch's compiler
    if (x.is_meta() && b.defined()) return forward(x, w, {}).add_(b);
    if (w.dim() == 2)
      if (Tensor y = fast_product(x, w.t(), b); y.defined()) return y;
    return at::linear(x, w, b.defined() ? std::optional<Tensor>(b) : std::nullopt);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return dense_product(c.gy(), c.in(1)); });
    if (c.needs(1)) c.template grad_of_rows<ProductOfRows>(1, c.gy(), c.in(0));
    c.template grad_of_rows<TotalOfRows>(2, T(), c.gy());
  }
};
CG_OP("linear", Linear, "x @ w.T + b for x (batch, in), w (out, in), b (out,).")

}  // namespace

Var matmul(const Var& a, const Var& b) { return run(MatMul{}, a, b); }
Var product_of_rows(const Var& a, const Var& b) { return run(MatMul{true, false}, a, b); }

}  // namespace cg
