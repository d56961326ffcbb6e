// Depthwise convolutions by the kernels of kernels/depthwise.h: on the CPU, in two dimensions, for channels first.
//
// Each function returns an undefined tensor, or false, where at::convolution is to compute: for other convolutions, for
// tensors with channels last, which have kernels of their own, and for shapes that do not fit, so that it raises the
// error.
#pragma once
#include "ops/placement.h"

namespace cg {

// `outsize`: at least so many positions of the filter, of which the last read zeros beyond the image.
Tensor depthwise_convolution(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b,
                             const std::optional<Ints>& outsize);
// `more`: the length of the image beyond what the filter touches, negative if the image ends before.
Tensor depthwise_deconvolution(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b, const Ints& more);
Tensor depthwise_grad_w(const Placement& p, const Tensor& image, const Tensor& map, at::IntArrayRef filter);
// The gradients of the inputs x and w of a convolution, or of a transposed one. `filter`: the shape of w for
// at::convolution.
bool depthwise_backward(const Placement& p, Ctx<Tensor>& c, at::IntArrayRef filter, bool transposed);

}  // namespace cg
