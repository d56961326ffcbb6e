// Softmax cross entropy on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

struct CrossEntropy {
  int64_t ignore_label;
  bool mean, normalize;  // normalize: divide by the number of labels that are not ignored, otherwise by the batch size
};

// For contiguous x (batch, classes, inner), labels t (batch, inner; int32 or int64) and class weights (undefined: 1),
// writes the losses, or their mean, to `loss`, and log(sum(exp(x))) to `log_sum` (batch, inner). A negative label
// counts from the end. Returns the factor by which the sum of losses was multiplied. Raises IndexError for a label that
// is out of range.
double softmax_cross_entropy(const CrossEntropy& p, const at::Tensor& x, const at::Tensor& t, const at::Tensor& weight,
                             const at::Tensor& log_sum, const at::Tensor& loss);
// The gradient with respect to x; `coefficient` is the factor that the forward returned.
void softmax_cross_entropy_grad(const CrossEntropy& p, double coefficient, const at::Tensor& x, const at::Tensor& t,
                                const at::Tensor& weight, const at::Tensor& log_sum, const at::Tensor& gy,
                                const at::Tensor& gx);

}  // namespace cg::kernels
