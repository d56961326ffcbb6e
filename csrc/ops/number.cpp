// Python numbers as operands of arithmetic.
#include <ATen/ScalarOps.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/InferenceMode.h>

#include <array>
#include <bit>

#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

// ATen makes a tensor of every Scalar, which takes longer than a kernel on a small tensor. So recent numbers are cached
// per thread, as CPU tensors, which kernels of other devices read as numbers.
struct Kept {
  uint64_t bits = 0;
  Tensor tensor;
};
thread_local std::unique_ptr<std::array<Kept, 128>> kept __attribute__((tls_model("initial-exec")));

// `s` in the dtype of x; null if ATen has to combine x and s, or if a tracer must see the number.
const Tensor* number(const Tensor& x, const c10::Scalar& s) {
  const auto dtype = x.scalar_type();
  // ATen's kernels compute float16 in float32, with the unrounded number.
  if (dtype != at::kFloat && dtype != at::kDouble) return nullptr;
  if (s.isComplex() || s.isSymbolic() || x.layout() != at::kStrided) return nullptr;
  if (kernels::traced(x)) return nullptr;  // a tensor made now would be the tracer's, and kept beyond it
  double v = s.toDouble();
  if (dtype == at::kFloat) v = static_cast<float>(v);  // numbers beyond the range become infinity, as in NumPy
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  if (!kept) kept = std::make_unique<std::array<Kept, 128>>();
  Kept& k = (*kept)[(bits * 0x9E3779B97F4A7C15u >> 58) * 2 + (dtype == at::kDouble)];
  if (!k.tensor.defined() || k.bits != bits) {
    const c10::InferenceMode ordinary(false);
    k.tensor = at::scalar_tensor(v, dtype);
    k.bits = bits;
  }
  return &k.tensor;
}

// Applies f to each element of x and the number; returns an undefined tensor if ATen has to compute.
template <class F>
Tensor few_by(const Tensor& x, const c10::Scalar& s, F f) {
  if (s.isComplex() || s.isSymbolic()) return {};
  return few::map([f, v = s.toDouble()](auto x) CG_EACH { return f(x, static_cast<decltype(x)>(v)); }, x);
}

}  // namespace

Tensor add_scalar(const Tensor& x, const c10::Scalar& s) {
  if (Tensor y = few_by(x, s, [](auto x, auto s) CG_EACH { return x + s; }); y.defined()) return y;
  const Tensor* n = number(x, s);
  return n ? at::add(x, *n) : at::add(x, s);
}
Tensor mul_scalar(const Tensor& x, const c10::Scalar& s) {
  if (Tensor y = few_by(x, s, [](auto x, auto s) CG_EACH { return x * s; }); y.defined()) return y;
  const Tensor* n = number(x, s);
  return n ? at::mul(x, *n) : at::mul(x, s);
}
Tensor div_scalar(const Tensor& x, const c10::Scalar& s) {
  if (Tensor y = few_by(x, s, [](auto x, auto s) CG_EACH { return x / s; }); y.defined()) return y;
  const Tensor* n = number(x, s);
  return n ? at::div(x, *n) : at::div(x, s);
}
Tensor rsub_scalar(const Tensor& x, const c10::Scalar& s) {
  if (Tensor y = few_by(x, s, [](auto x, auto s) CG_EACH { return s - x; }); y.defined()) return y;
  const Tensor* n = number(x, s);
  return n ? at::sub(*n, x) : at::rsub(x, s);
}
Tensor rdiv_scalar(const Tensor& x, const c10::Scalar& s) {
  if (Tensor y = few_by(x, s, [](auto x, auto s) CG_EACH { return s / x; }); y.defined()) return y;
  const Tensor* n = number(x, s);
  return at::div(n ? *n : at::native::wrapped_scalar_tensor(s), x);
}

}  // namespace cg
