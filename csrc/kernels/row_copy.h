// Copies of arrays whose rows lie apart, such as the heads of an attention.
//
// ATen's loop needs some 30 ns to begin each row, which is longer than copying the 32 to 128 numbers of a head takes.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// x itself if it is contiguous, otherwise a contiguous copy.
at::Tensor contiguous(const at::Tensor& x);
// Copies the elements of `from`, of the same shape and dtype, to `to`. The two share no memory.
void copy_to(const at::Tensor& to, const at::Tensor& from);

}  // namespace cg::kernels
