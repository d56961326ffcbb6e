// Tests of elements, whose results are 0 or 1 in the dtype of the first input. They are piecewise constant, so no
// gradient passes.
#include <ATen/ops/eq.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/ne.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct Flat {
  static constexpr Mask saves = 0;
  template <class T>
  void backward(Ctx<T>&) {}
};

template <Tensor (*F)(const Tensor&, const Tensor&)>
struct Mask2 : Flat {
  Tensor forward(const Tensor& a, const Tensor& b) { return F(a, b).to(a.scalar_type()); }
};
template <Tensor (*F)(const Tensor&)>
struct Mask1 : Flat {
  Tensor forward(const Tensor& x) { return F(x).to(x.scalar_type()); }
};
template <Tensor (*F)(const Tensor&, const c10::Scalar&)>
struct MaskScalar : Flat {
  c10::Scalar value = 0;
  static constexpr auto params() { return std::make_tuple(required("value", &MaskScalar::value)); }
  Tensor forward(const Tensor& x) { return F(x, value).to(x.scalar_type()); }
};

using Equal = Mask2<at::eq>;
CG_POINTWISE("equal", Equal, "1 where a == b, else 0; no gradient.")
using NotEqual = Mask2<at::ne>;
CG_POINTWISE("not_equal", NotEqual, "1 where a != b, else 0; no gradient.")
using Greater = Mask2<at::gt>;
CG_POINTWISE("greater", Greater, "1 where a > b, else 0; no gradient.")
using GreaterEqual = Mask2<at::ge>;
CG_POINTWISE("greater_equal", GreaterEqual, "1 where a >= b, else 0; no gradient.")
using Less = Mask2<at::lt>;
CG_POINTWISE("less", Less, "1 where a < b, else 0; no gradient.")
using LessEqual = Mask2<at::le>;
CG_POINTWISE("less_equal", LessEqual, "1 where a <= b, else 0; no gradient.")

using EqualScalar = MaskScalar<at::eq>;
CG_POINTWISE("equal_scalar", EqualScalar, "1 where x == value, else 0; no gradient.")
using NotEqualScalar = MaskScalar<at::ne>;
CG_POINTWISE("not_equal_scalar", NotEqualScalar, "1 where x != value, else 0; no gradient.")
using GreaterScalar = MaskScalar<at::gt>;
CG_POINTWISE("greater_scalar", GreaterScalar, "1 where x > value, else 0; no gradient.")
using GreaterEqualScalar = MaskScalar<at::ge>;
CG_POINTWISE("greater_equal_scalar", GreaterEqualScalar, "1 where x >= value, else 0; no gradient.")
using LessScalar = MaskScalar<at::lt>;
CG_POINTWISE("less_scalar", LessScalar, "1 where x < value, else 0; no gradient.")
using LessEqualScalar = MaskScalar<at::le>;
CG_POINTWISE("less_equal_scalar", LessEqualScalar, "1 where x <= value, else 0; no gradient.")

using LogicalAnd = Mask2<at::logical_and>;
CG_POINTWISE("logical_and", LogicalAnd, "1 where neither a nor b is 0, else 0; no gradient.")
using LogicalOr = Mask2<at::logical_or>;
CG_POINTWISE("logical_or", LogicalOr, "0 where a and b are 0, else 1; no gradient.")
using LogicalXor = Mask2<at::logical_xor>;
CG_POINTWISE("logical_xor", LogicalXor, "1 where exactly one of a and b is 0, else 0; no gradient.")
using LogicalNot = Mask1<at::logical_not>;
CG_POINTWISE("logical_not", LogicalNot, "1 where x is 0, else 0; no gradient.")

Tensor and_scalar(const Tensor& x, const c10::Scalar& s) { return s.toBool() ? at::ne(x, 0) : at::zeros_like(x); }
Tensor or_scalar(const Tensor& x, const c10::Scalar& s) { return at::ne(s.toBool() ? at::zeros_like(x) + 1 : x, 0); }
Tensor xor_scalar(const Tensor& x, const c10::Scalar& s) { return s.toBool() ? at::eq(x, 0) : at::ne(x, 0); }
using LogicalAndScalar = MaskScalar<and_scalar>;
CG_POINTWISE("logical_and_scalar", LogicalAndScalar, "1 where x is not 0 and value is true, else 0; no gradient.")
using LogicalOrScalar = MaskScalar<or_scalar>;
CG_POINTWISE("logical_or_scalar", LogicalOrScalar, "1 where x is not 0 or value is true, else 0; no gradient.")
using LogicalXorScalar = MaskScalar<xor_scalar>;
CG_POINTWISE("logical_xor_scalar", LogicalXorScalar, "1 where either x is not 0 or value is true, else 0; no gradient.")

using IsNaN = Mask1<at::isnan>;
CG_POINTWISE("isnan", IsNaN, "1 where x is NaN, else 0; no gradient.")
using IsInf = Mask1<at::isinf>;
CG_POINTWISE("isinf", IsInf, "1 where x is infinite, else 0; no gradient.")

}  // namespace
}  // namespace cg
