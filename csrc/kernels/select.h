// Choosing between the elements of two tensors on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// a where the condition is not 0, else b; one of them may be undefined, which stands for zeros. Undefined where ATen
// has to choose: the tensors must be contiguous, of one shape and in main memory.
//
// at::where branches for each element. Where the condition looks random, the processor mispredicts half of them, and
// at::where takes ten times as long.
at::Tensor selected(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b);

}  // namespace cg::kernels
