// Copies of tensors without ATen.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::few {

// x.contiguous(); if x is one number in all places, as the gradient of a sum is, without code of ATen.
at::Tensor contiguous(const at::Tensor& x);

}  // namespace cg::few
