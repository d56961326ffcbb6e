// Products of matrices and vectors.
#include <ATen/ops/linear.h>

#include "ops/row_sums.h"

namespace cg {
namespace {

struct MatMul {
  bool transa = false, transb = false;  // swap the last two axes first; vectors are not changed
  static constexpr auto params() {
    return std::make_tuple(param("transa", &MatMul::transa), param("transb", &MatMul::transb));
  }
  Mask saves_for(c10::ArrayRef<bool> needs) const { return (needs[1] ? in_bit(0) : 0) | (needs[0] ? in_bit(1) : 0); }
  template <class T>
  static T turned(const T& x, bool swap) {
    return swap && x.dim() > 1 ? transpose(x, -1, -2) : x;
  }
  Tensor forward(const Tensor& a, const Tensor& b) { return at::matmul(turned(a, transa), turned(b, transb)); }
  // Vectors are treated as matrices of one row or one column; the pass sums over broadcast batch axes.
  template <class T>
  void backward(Ctx<T>& c) {
    const at::IntArrayRef sa = c.in_sizes(0), sb = c.in_sizes(1);
    if (sa.size() == 1 && sb.size() == 1) {
      c.grad(0, [&] { return c.gy() * c.in(1); });
      c.grad(1, [&] { return c.gy() * c.in(0); });
      return;
    }
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
      const bool turn = transa && sa.size() > 1;
      T g = turn ? matmul(turned(b, transb && sb.size() > 1), transpose(gy, -1, -2))
                 : matmul(gy, turned(b, !transb || sb.size() == 1));
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
      const bool turn = transb && sb.size() > 1;
      T g = turn ? matmul(transpose(gy, -1, -2), turned(a, transa && sa.size() > 1))
                 : matmul(turned(a, !transa || sa.size() == 1), gy);
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
    return at::linear(x, w, b.defined() ? std::optional<Tensor>(b) : std::nullopt);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return matmul(c.gy(), c.in(1)); });
    if (c.needs(1)) c.template grad_of_rows<ProductOfRows>(1, c.gy(), c.in(0));
    c.template grad_of_rows<TotalOfRows>(2, T(), c.gy());
  }
};
CG_OP("linear", Linear, "x @ w.T + b for x (batch, in), w (out, in), b (out,).")

}  // namespace

Var matmul(const Var& a, const Var& b) { return run(MatMul{}, a, b); }

}  // namespace cg
