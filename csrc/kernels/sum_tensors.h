// Sums of tensors in one pass over memory.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// scale (x0 + x1 + ...), left to right, in memory of its own or, with `into_first`, in that of the first. Undefined
// where the kernel does not take them: other dtypes, differing shapes or layouts, a tracer that wants to see
// operations.
at::Tensor sum(at::TensorList xs, bool into_first, double scale = 1);

}  // namespace cg::kernels
