// The second derivatives of batch and layer normalization on the CPU, which ops/norm.h writes as a formula.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// A normalization has the first derivatives gx, ggamma and gbeta; `v`, `w` and `b` are their gradients, of which w and
// b may be undefined. Those of the results that are defined are computed: the gradients of x, of gamma and of gy. All
// tensors are contiguous and of one dtype.
struct SecondNorm {
  const at::Tensor &x, &gamma, &gy, &mean, &inv_std, &v, &w, &b;
  const at::Tensor &to_x, &to_gamma, &to_gy;
};

// x (outer, channels, inner), with the statistics of each channel
void batch_norm_second(const SecondNorm& n);
// x (rows, columns), with the statistics of each row; gamma, w and b have a number per column
void layer_norm_second(const SecondNorm& n);

}  // namespace cg::kernels
