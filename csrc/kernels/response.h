// Local response normalization on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// x / (k + alpha s) ** 0.75 for contiguous floats or doubles x (outer, channels, inner), where s is the sum of the
// squares of a channel and of `half` channels on each side.
at::Tensor local_response(const at::Tensor& x, int64_t half, double k, double alpha);

}  // namespace cg::kernels
