// Ops of one tensor whose forward and whose backward are one expression each.
//
//   CG_UNARY(Exp, "exp", out_bit(0), at::exp(x), c.gy() * c.out(0), "e ** x")
//
// are the op's type, its name, what backward reads, the value at the tensor x, the gradient and the documentation. In
// the gradient c.gy() is the result's gradient, c.in(0) the input and c.out(0) the result: Tensors in a plain pass,
// Vars in a recorded one. CG_POINTWISE_UNARY declares an op on each element (see OpInfo::pointwise).
#pragma once
#include "ops/functions.h"

#define CG_UNARY(OP, NAME, SAVES, VALUE, GRADIENT, DOC) \
  CG_UNARY_TYPE(OP, SAVES, VALUE, GRADIENT)             \
  CG_OP(NAME, OP, DOC)
#define CG_POINTWISE_UNARY(OP, NAME, SAVES, VALUE, GRADIENT, DOC) \
  CG_UNARY_TYPE(OP, SAVES, VALUE, GRADIENT)                       \
  CG_POINTWISE(NAME, OP, DOC)
#define CG_UNARY_TYPE(OP, SAVES, VALUE, GRADIENT)     \
  struct OP {                                         \
    static constexpr Mask saves = SAVES;              \
    Tensor forward(const Tensor& x) { return VALUE; } \
    template <class T>                                \
    void backward(Ctx<T>& c) {                        \
      c.grad(0, [&] { return GRADIENT; });            \
    }                                                 \
  };
