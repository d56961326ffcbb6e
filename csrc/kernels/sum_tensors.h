// Sums of tensors in one pass over memory.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// scale (x0 + x1 + ...), from left to right, in new memory or, with `into_first`, in that of the first tensor.
// Undefined if the kernel does not support the tensors: with other dtypes, differing shapes or layouts, or under a
// tracer.
at::Tensor sum(at::TensorList xs, bool into_first, double scale = 1);

}  // namespace cg::kernels
