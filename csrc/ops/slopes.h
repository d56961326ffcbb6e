// Gradients of activations whose result is the same at every place of an array. ATen's functions for them treat NaN one
// way in the last elements, and another way in those that they compute several at a time.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg {

// The gradient of elu from its result y: gy * scale where y > 0, gy * (y + floor) elsewhere. Where y is NaN it is NaN
// if `nan`, else gy * scale. Overwrites `to` if that is defined, which may be gy. Undefined if the tensors are not
// floats or doubles in main memory.
at::Tensor elu_slope(at::Tensor to, const at::Tensor& gy, const at::Tensor& y, double scale, double floor, bool nan);
// gy where lower < x < upper, 0 elsewhere and where x is NaN.
at::Tensor band_slope(const at::Tensor& gy, const at::Tensor& x, double lower, double upper);

// gy times the derivative of erf at x, 2 / sqrt(pi) exp(-x x). Overwrites `to` if that is defined, which may be gy.
// Undefined if the tensors are not floats in main memory.
at::Tensor erf_slope(at::Tensor to, const at::Tensor& gy, const at::Tensor& x);

}  // namespace cg
