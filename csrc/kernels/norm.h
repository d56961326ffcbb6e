// Batch normalization on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// y = gamma (x - mean) / std + beta for contiguous x (outer, channels, inner), with the statistics of each channel;
// mean and 1 / std are stored. If running statistics are given, they are updated by decay * old + (1 - decay) * new,
// with the unbiased variance.
void batch_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, const at::Tensor& y,
                const at::Tensor& mean, const at::Tensor& inv_std, const at::Tensor& running_mean,
                const at::Tensor& running_var, double decay);
// Computes those of the gradients gx (which may be gy itself), ggamma and gbeta that are defined.
void batch_norm_grad(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& mean, const at::Tensor& inv_std,
                     const at::Tensor& gy, const at::Tensor& gx, const at::Tensor& ggamma, const at::Tensor& gbeta);

}  // namespace cg::kernels
