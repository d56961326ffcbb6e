// Triangular systems, and eigenvalues of symmetric matrices.
#include <ATen/ops/abs.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/where.h>

#include "ops/linalg.h"

namespace cg {
namespace {

template <class T>
T solve(const T& a, const T& b, bool lower, bool transpose, bool right);

struct SolveTriangular {
  bool lower = true;
  bool transpose = false;
  bool right = false;
  static constexpr auto params() {
    return std::make_tuple(param("lower", &SolveTriangular::lower), param("transpose", &SolveTriangular::transpose),
                           param("right", &SolveTriangular::right));
  }
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& a, const Tensor& b) {
    check_square("solve_triangular", a, "a");
    TORCH_CHECK_VALUE(b.dim() >= 2 && b.size(right ? -1 : -2) == a.size(-1), "solve_triangular: b of shape ", b.sizes(),
                      " does not fit a of shape ", a.sizes());
    return at::linalg_solve_triangular(transpose ? turned(a) : a, b, lower == transpose, !right).contiguous();
  }
  // Let m be the triangle of a, or its transpose: gb solves the transposed system; gm is -gb y^T, or -y^T gb.
  template <class T>
  void backward(Ctx<T>& c) {
    const auto gb = [&] { return solve(c.in(0), c.gy(), lower, !transpose, right); };
    c.grad(0, [&] {
      const T y = c.out(0), g = gb();
      const T gm = right ? matmul(turned(y), g) : matmul(g, turned(y));
      const int64_t n = value(gm).size(-1);
      const Tensor ones = at::ones({n, n}, value(gm).options().dtype(at::kBool));
      return where(T(lower ? at::tril(ones) : at::triu(ones)), -(transpose ? turned(gm) : gm), zeros_as(gm));
    });
    c.grad(1, gb);
  }
};
CG_OP("solve_triangular", SolveTriangular,
      "The solution x of a x = b (right: x a = b) for the lower or upper triangles of a, or their transpose.")

template <class T>
T solve(const T& a, const T& b, bool lower, bool transpose, bool right) {
  return run(SolveTriangular{lower, transpose, right}, a, b);
}

struct EigenSymmetric {
  static constexpr Mask saves = out_bit(0) | out_bit(1);
  // Rows of u are eigenvectors, with signs that make their largest components positive.
  std::tuple<Tensor, Tensor> forward(const Tensor& a) {
    check_square("eigen_symmetric", a, "a");
    auto [l, v] = at::linalg_eigh(a, "L");
    const Tensor u = turned(v);
    const Tensor largest = at::gather(u, -1, at::argmax(at::abs(u), -1, true));
    return {(u * at::where(largest < 0, -1, 1).to(u.scalar_type())).contiguous(), l};
  }
  // ga is the symmetric part of u^T (diag(gl) + F * (u gu^T)) u, with F[i, j] = 1 / (l[j] - l[i]) and zeros at i = j.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T u = c.out(0), l = c.out(1);
      const int64_t n = value(l).size(-1);
      const Tensor eye = at::eye(n, value(l).options());
      Ints column = ints(value(l).sizes()), row = column;
      column.push_back(1);
      row.insert(row.end() - 1, 1);
      T inner;
      const bool vectors = value(c.gy(0)).defined(), values = value(c.gy(1)).defined();
      if (vectors) {
        const T f = reciprocal(reshape(l, row) - reshape(l, column) + eye) + (-eye);
        inner = f * matmul(u, turned(c.gy(0)));
      }
      if (values) {
        const T diagonal = reshape(c.gy(1), row) * eye;
        inner = vectors ? inner + diagonal : diagonal;
      }
      const T g = matmul(matmul(turned(u), inner), u);
      return (g + turned(g)) * 0.5;
    });
  }
};
CG_OP("eigen_symmetric", EigenSymmetric,
      "Eigenvectors (as rows) and ascending eigenvalues of symmetric matrices, of which only the lower half is read.")

}  // namespace
}  // namespace cg
