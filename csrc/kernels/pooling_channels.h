// Max pooling of images with channels last, for inference.
#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/pooling.h"

namespace cg::kernels {

// The maxima of windows over the last two axes of x: float32, (n, channels, height, width), with channels last and no
// gaps. Each window has a pixel inside the image. NaN is larger than any number. Unlike ATen's pooling, it keeps no
// positions.
at::Tensor max_pool_channels(const PoolWindow& w, const at::Tensor& x);

}  // namespace cg::kernels
