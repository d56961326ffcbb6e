// Layer normalization on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// y = gamma (x - mean) / std + beta for each row of x (rows, columns); the mean and 1 / std of each row are stored. All
// tensors are contiguous and of one dtype, float or double.
void layer_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, const at::Tensor& y,
                const at::Tensor& mean, const at::Tensor& inv_std);

}  // namespace cg::kernels
