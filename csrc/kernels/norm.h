// Batch normalisation on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// y = gamma (x - mean) / std + beta for contiguous x (outer, channels, inner), by the statistics of each channel, of
// which mean and 1 / std are stored. Running statistics, where given, take (1 - decay) of the new ones; the variance
// unbiased.
void batch_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, const at::Tensor& y,
                const at::Tensor& mean, const at::Tensor& inv_std, const at::Tensor& running_mean,
                const at::Tensor& running_var, double decay);
// The gradients that are defined of gx (which may be gy itself), ggamma and gbeta.
void batch_norm_grad(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& mean, const at::Tensor& inv_std,
                     const at::Tensor& gy, const at::Tensor& gx, const at::Tensor& ggamma, const at::Tensor& gbeta);

}  // namespace cg::kernels
