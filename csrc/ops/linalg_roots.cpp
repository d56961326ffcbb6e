// Inverse roots of symmetric positive definite matrices, and the Sylvester equation that their derivative solves.
#include <ATen/ops/linalg_eigh.h>

#include "ops/linalg.h"

namespace cg {
namespace {

template <class T>
T symmetric(const T& x) {
  return (x + turned(x)) * 0.5;
}
// Eigenvalues and eigenvectors, computed in double precision: the inverses of small eigenvalues dominate the result,
// and single precision gives few correct digits of them; half precision has no such decomposition.
std::tuple<Tensor, Tensor> decomposed(const Tensor& x) { return at::linalg_eigh(symmetric(x.to(at::kDouble)), "L"); }

template <class T>
T sylvester(const T& a, const T& b);

struct SylvesterSymmetric {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& a, const Tensor& b) {
    check_square("sylvester_symmetric", a, "a");
    TORCH_CHECK_VALUE(a.sizes() == b.sizes(), "sylvester_symmetric: b of shape ", b.sizes(),
                      " does not fit a of shape ", a.sizes());
    const auto [l, v] = decomposed(a);
    const Tensor inner = at::matmul(at::matmul(turned(v), b.to(at::kDouble)), v);
    const Tensor x = inner / (l.unsqueeze(-1) + l.unsqueeze(-2));
    return at::matmul(at::matmul(v, x), turned(v)).to(b.scalar_type()).contiguous();
  }
  // The equation is self-adjoint, so gb is its solution for gy; a occurs on both sides of x.
  template <class T>
  void backward(Ctx<T>& c) {
    const T gb = sylvester(c.in(0), c.gy());
    c.grad(0, [&] {
      const T x = c.out(0);
      return symmetric(-(matmul(gb, turned(x)) + matmul(turned(x), gb)));
    });
    c.grad(1, [&] { return gb; });
  }
};
CG_OP("sylvester_symmetric", SylvesterSymmetric,
      "x of s x + x s = b, for the symmetric parts s of a, which must be positive definite.")

template <class T>
T sylvester(const T& a, const T& b) {
  return run(SylvesterSymmetric{}, a, b);
}

struct InverseRoot {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& x) {
    check_square("inverse_root", x);
    const auto [l, v] = decomposed(x);
    return at::matmul(v * at::rsqrt(l).unsqueeze(-2), turned(v)).to(x.scalar_type()).contiguous();
  }
  // p is the inverse of the root r, so gr = -p gy p. From x = r r follows dx = r dr + dr r, whose adjoint equation is
  // solved for gx.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T p = c.out(0);
      return symmetric(sylvester(matmul(symmetric(c.in(0)), p), -matmul(matmul(p, c.gy()), p)));
    });
  }
};
CG_OP("inverse_root", InverseRoot,
      "p with p s p = 1, for the symmetric parts s of x, which must be positive definite: s to the power of -1/2.")

}  // namespace
}  // namespace cg
