// Diagonals and triangles of matrices.
#include <ATen/ops/diagonal.h>
#include <ATen/ops/diagonal_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

#include "core/deferred.h"
#include "kernels/only_shape.h"
#include "ops/unary.h"

namespace cg {
namespace {

struct DiagonalGrad {
  Ints shape;
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  static constexpr auto params() {
    return std::make_tuple(required("shape", &DiagonalGrad::shape), param("offset", &DiagonalGrad::offset),
                           param("axis1", &DiagonalGrad::axis1), param("axis2", &DiagonalGrad::axis2));
  }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& gy) const {
    return static_cast<int64_t>(shape.size()) == gy.dim() + 1 ? hollow(shape, gy) : Tensor();
  }
  Tensor forward(const Tensor& gy) { return at::diagonal_backward(gy, shape, offset, axis1, axis2); }
  template <class T>
  void backward(Ctx<T>& c);
};
CG_OP("diagonal_grad", DiagonalGrad, "Zeros of shape, with gy on the diagonal.")

struct Diagonal {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  static constexpr auto params() {
    return std::make_tuple(param("offset", &Diagonal::offset), param("axis1", &Diagonal::axis1),
                           param("axis2", &Diagonal::axis2));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return at::diagonal(x, offset, axis1, axis2); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(DiagonalGrad{ints(c.in_sizes(0)), offset, axis1, axis2}, c.gy()); });
  }
};
CG_OP("diagonal", Diagonal, "The diagonal of the matrices in axis1 and axis2, as the last axis.")

template <class T>
void DiagonalGrad::backward(Ctx<T>& c) {
  c.grad(0, [&] { return run(Diagonal{offset, axis1, axis2}, c.gy()); });
}

// at::triu or at::tril of matrices.
template <class F>
Tensor triangle(const Tensor& x, F&& part) {
  return kernels::only_shape(x) && x.dim() >= 2 ? at::empty(x.sizes(), x.options()) : part(x);
}

CG_UNARY_WITH(Triu, "triu", param, int64_t, k, 0, 0, triangle(x, [this](const Tensor& x) { return at::triu(x, k); }),
              run(Triu{k}, c.gy()), "x with zeros below the k-th diagonal of the last two axes.")

CG_UNARY_WITH(Tril, "tril", param, int64_t, k, 0, 0, triangle(x, [this](const Tensor& x) { return at::tril(x, k); }),
              run(Tril{k}, c.gy()), "x with zeros above the k-th diagonal of the last two axes.")

}  // namespace
}  // namespace cg
