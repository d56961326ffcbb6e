// Products of matrices and vectors.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include "core/rows.h"
#include "kernels/map.h"
#include "kernels/only_shape.h"
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
    if (!swap || x.dim() < 2) return x;
    const Tensor y = x.transpose(-1, -2);
    // at::matmul copies batches with several axes that lie apart, slowly if it reads rows as columns.
    const bool copied = x.dim() > 3 && x.is_cpu() && !kernels::traced(x) && !x.is_contiguous() && !y.is_contiguous();
    return copied ? x.contiguous().transpose(-1, -2) : y;
  }
  // Whether x is batches with two axes that lie apart, each of rows or columns of adjacent elements.
  static bool is_apart(const Tensor& x) {
    const auto ordered = [&](int64_t across, int64_t along) {
      return x.stride(along) == 1 && x.stride(across) >= std::max<int64_t>(x.size(along), 1);
    };
    return x.dim() == 4 && kernels::raw(x) && !x.is_contiguous() && !x.transpose(-1, -2).is_contiguous() &&
           (ordered(-2, -1) || ordered(-1, -2));
  }
  // The products of large batches one by one, which need no copies; undefined if that would not be faster.
  static Tensor by_batch(const Tensor& a, const Tensor& b) {
    constexpr int64_t kLarge = 1 << 15;  // elements of which a copy takes longer than the calls
    if (!(is_apart(a) || is_apart(b)) || a.dim() != 4 || b.dim() != 4 || !kernels::raw(a, b)) return {};
    if (a.sizes().slice(0, 2) != b.sizes().slice(0, 2) || a.size(3) != b.size(2) || a.size(0) == 0) return {};
    const auto copied = [&](const Tensor& x) { return is_apart(x) ? x.numel() / x.size(0) : 0; };
    if (copied(a) + copied(b) < kLarge) return {};
    Tensor y = at::empty({a.size(0), a.size(1), a.size(2), b.size(3)}, a.options());
    for (int64_t i = 0; i < a.size(0); ++i) {
      Tensor part = y.select(0, i);
      at::bmm_out(part, a.select(0, i), b.select(0, i));
    }
    return y;
  }
  // The product of matrices or of batches of them as a tensor without values, which only tells the shape. Undefined
  // where at::matmul has to find the shape or raise the error.
  static Tensor shape_of(const Tensor& a, const Tensor& b) {
    if (a.dim() < 2 || b.dim() < 2 || a.size(-1) != b.size(-2)) return {};
    const auto batches = [](const Tensor& x) { return x.sizes().slice(0, x.dim() - 2); };
    if (!at::are_expandable(batches(a), batches(b))) return {};
    at::DimVector sizes = at::infer_size_dimvector(batches(a), batches(b));
    sizes.push_back(a.size(-2));
    sizes.push_back(b.size(-1));
    return at::empty(sizes, a.options());
  }
  static Tensor product(const Tensor& a, bool transa, const Tensor& b, bool transb) {
    return MatMul{transa, transb}.forward(a, b);
  }
  static Var product(const Var& a, bool transa, const Var& b, bool transb) { return run(MatMul{transa, transb}, a, b); }
  Tensor forward(const Tensor& a, const Tensor& b) {
    const auto seen = [](const Tensor& x, bool swap) { return swap && x.dim() > 1 ? x.transpose(-1, -2) : x; };
    if (kernels::only_shape(a, b))
      if (Tensor y = shape_of(seen(a, transa), seen(b, transb)); y.defined()) return y;
    if (Tensor y = by_batch(seen(a, transa), seen(b, transb)); y.defined()) return y;
    return dense_product(turned(a, transa), turned(b, transb));
  }
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
    if constexpr (std::is_same_v<T, Tensor>)  // once, not for each of the two products
      if (is_apart(gy) && gy.numel() < gy.size(0) << 15) gy = gy.contiguous();
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
    if (kernels::only_shape(x, w) && x.dim() > 1 && w.dim() == 2 && x.size(-1) == w.size(1) &&
        (!b.defined() || (kernels::only_shape(x, b) && b.dim() == 1 && b.numel() == w.size(0)))) {
      Ints sizes = ints(x.sizes());
      sizes.back() = w.size(0);
      return at::empty(sizes, x.options());
    }
    // Torch's shape function with a bias would import torch's compiler
    if (x.is_meta() && b.defined()) return forward(x, w, {}).add_(b);
    if (w.dim() == 2)
      if (Tensor y = fast_product(x, w, b, true); y.defined()) return y;
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
// Writes the sum of the rows of b into `to`; with `more` adds it there. Returns false if ATen has to compute.
static bool sum_rows(const Tensor& to, const Tensor& b, bool more) {
  if (!kernels::raw(to, b) || b.dim() != 2 || !b.is_contiguous() || to.numel() != b.size(1)) return false;
  kernels::with_dtype(b, [&]<class T>(T) {
    constexpr int64_t kColumns = 1024;  // the sums of so many columns stay in the cache
    const auto plus = [](auto x, auto y) CG_EACH { return x + y; };
    for (int64_t j = 0; j < b.size(1); j += kColumns) {
      T sums[kColumns] = {};
      const int64_t n = std::min(kColumns, b.size(1) - j);
      for (int64_t i = 0; i < b.size(0); ++i)
        kernels::map_range(n, sums, plus, sums, b.const_data_ptr<T>() + i * b.size(1) + j);
      T* const t = to.mutable_data_ptr<T>() + j;
      if (more)
        kernels::map_range(n, t, plus, t, sums);
      else
        std::copy_n(sums, n, t);
    }
  });
  return true;
}
bool TotalOfRows::add(const Tensor& to, const Tensor& /*a*/, const Tensor& b) { return sum_rows(to, b, true); }
static bool fits_product(const Tensor& to, const Tensor& a, const Tensor& b) {
  return a.dim() == 2 && b.dim() == 2 && to.numel() == a.size(1) * b.size(1) && a.scalar_type() == to.scalar_type();
}
static Tensor matrix_of(const Tensor& to, const Tensor& a, const Tensor& b) {
  const std::array<int64_t, 2> sizes{a.size(1), b.size(1)};
  return to.is_contiguous() ? shaped(to, sizes) : to.view(sizes);
}
bool ProductOfRows::add(const Tensor& to, const Tensor& a, const Tensor& b) {
  if (!fits_product(to, a, b)) return false;
  matrix_of(to, a, b).addmm_(kernels::turned(a), b);
  return true;
}
bool ProductOfRows::write(const Tensor& to, const Tensor& a, const Tensor& b) {
  if (!fits_product(to, a, b) || !kernels::raw(a, b) || !kernels::raw(to)) return false;
  Tensor y = matrix_of(to, a, b);
  at::mm_out(y, kernels::turned(a), b);
  return true;
}
// Of more rows ATen's sum is more exact, and uses threads.
Tensor TotalOfRows::of_few(const Tensor& b) {
  constexpr int64_t kRows = 128;
  if (b.dim() != 2 || b.size(0) > kRows || b.numel() > kernels::kGrain || !kernels::raw(b)) return {};
  Tensor y = at::empty({b.size(1)}, b.options());
  return sum_rows(y, b, false) ? y : Tensor();
}

Var product_of_rows(const Var& a, const Var& b) { return run(MatMul{true, false}, a, b); }

}  // namespace cg
