// Convolutions with stride 1 and filters of one pixel, or along one axis, on the CPU, by kernels/pointwise.h.
#pragma once
#include "ops/placement.h"

namespace cg {

// Each returns an undefined tensor where another way is faster, or the shapes do not fit.
Tensor pointwise_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b);
// The gradient of the image, of the shape `image`. `into`: undefined, or memory for the result, which may be that of
// `map`.
Tensor pointwise_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w,
                       const Tensor& b = {}, const Tensor& into = {});
Tensor pointwise_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);
// Convolutions with two axes of images of up to four channels, by kernels/few_channels.h.
Tensor few_channels_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b);
Tensor few_channels_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);

}  // namespace cg
