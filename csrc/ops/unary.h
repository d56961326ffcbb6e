// Ops of one tensor whose forward and whose backward are one expression each.
//
//   CG_UNARY(Exp, "exp", out_bit(0), at::exp(x), c.gy() * c.out(0), "e ** x")
//
// The arguments are the op's type, its name, what backward reads, the value for the tensor x, the gradient and the
// documentation. In the gradient, c.gy() is the gradient of the result, c.in(0) the input and c.out(0) the result:
// Tensors in a plain pass, Vars in a recorded one. CG_POINTWISE_UNARY declares an element-wise op (see
// OpInfo::pointwise).
//
//   CG_UNARY_WITH(Triu, "triu", param, int64_t, k, 0, 0, at::triu(x, k), run(Triu{k}, c.gy()), "Zeros below ...")
//
// The additional arguments declare a parameter, which both expressions may read: `param` or `required`, its type, name
// and default.
#pragma once
#include "ops/functions.h"

#define CG_UNARY(OP, NAME, SAVES, VALUE, GRADIENT, DOC) CG_UNARY_AS(CG_OP, OP, NAME, , SAVES, VALUE, GRADIENT, DOC)
#define CG_POINTWISE_UNARY(OP, NAME, SAVES, VALUE, GRADIENT, DOC) \
  CG_UNARY_AS(CG_POINTWISE, OP, NAME, , SAVES, VALUE, GRADIENT, DOC)
#define CG_UNARY_WITH(OP, NAME, KIND, TYPE, PARAM, DEFAULT, SAVES, VALUE, GRADIENT, DOC) \
  CG_UNARY_AS(CG_OP, OP, NAME, CG_UNARY_PARAM(OP, KIND, TYPE, PARAM, DEFAULT), SAVES, VALUE, GRADIENT, DOC)
#define CG_POINTWISE_UNARY_WITH(OP, NAME, KIND, TYPE, PARAM, DEFAULT, SAVES, VALUE, GRADIENT, DOC) \
  CG_UNARY_AS(CG_POINTWISE, OP, NAME, CG_UNARY_PARAM(OP, KIND, TYPE, PARAM, DEFAULT), SAVES, VALUE, GRADIENT, DOC)
#define CG_UNARY_PARAM(OP, KIND, TYPE, PARAM, DEFAULT) \
  TYPE PARAM = DEFAULT;                                \
  static constexpr auto params() { return std::make_tuple(KIND(#PARAM, &OP::PARAM)); }
#define CG_UNARY_AS(REGISTER, OP, NAME, PARAM, SAVES, VALUE, GRADIENT, DOC) \
  struct OP {                                                               \
    PARAM                                                                   \
    static constexpr Mask saves = SAVES;                                    \
    Tensor forward(const Tensor& x) { return VALUE; }                       \
    template <class T>                                                      \
    void backward(Ctx<T>& c) {                                              \
      c.grad(0, [&] { return GRADIENT; });                                  \
    }                                                                       \
  };                                                                        \
  REGISTER(NAME, OP, DOC)
