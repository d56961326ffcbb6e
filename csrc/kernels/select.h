// Choosing between the elements of two tensors on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// a where the condition is not 0, else b; one of them may be undefined, which stands for zeros. Undefined where ATen
// has to choose: the tensors must be contiguous, of one shape and in main memory.
//
// at::where has a jump for each element. The processor foresees none of them where the condition looks random, and
// takes ten times as long.
at::Tensor selected(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b);

}  // namespace cg::kernels
