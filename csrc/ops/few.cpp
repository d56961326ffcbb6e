#include "ops/few.h"

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh_backward.h>

namespace cg::few {

at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a + b; }, a, b);
  return y.defined() ? y : at::add(a, b);
}
at::Tensor sub(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a - b; }, a, b);
  return y.defined() ? y : at::sub(a, b);
}
at::Tensor mul(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a * b; }, a, b);
  return y.defined() ? y : at::mul(a, b);
}
at::Tensor div(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a / b; }, a, b);
  return y.defined() ? y : at::div(a, b);
}
at::Tensor neg(const at::Tensor& x) {
  at::Tensor y = map([](auto x) CG_EACH { return -x; }, x);
  return y.defined() ? y : at::neg(x);
}
at::Tensor square(const at::Tensor& x) {
  at::Tensor y = map([](auto x) CG_EACH { return x * x; }, x);
  return y.defined() ? y : at::square(x);
}
at::Tensor sigmoid_backward(const at::Tensor& gy, const at::Tensor& y) {
  at::Tensor gx = map([](auto g, auto y) CG_EACH { return g * (1 - y) * y; }, gy, y);
  return gx.defined() ? gx : at::sigmoid_backward(gy, y);
}
at::Tensor tanh_backward(const at::Tensor& gy, const at::Tensor& y) {
  at::Tensor gx = map([](auto g, auto y) CG_EACH { return g * (1 - y * y); }, gy, y);
  return gx.defined() ? gx : at::tanh_backward(gy, y);
}

}  // namespace cg::few
