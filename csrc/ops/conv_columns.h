// Convolutions that products of columns compute faster than oneDNN, on the CPU. The columns of an image are its patches
// below the filter's positions.
#pragma once
#include "ops/placement.h"

namespace cg {

// Whether the convolution of x with w, whose map has `map_numel` elements, is so small that oneDNN's preparation would
// take longer.
bool is_small(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b, int64_t map_numel);
// Whether ATen's functions of columns compute this convolution of an image: they do not dilate, and use all positions
// of the filter.
bool columns_fit(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w);
// A small convolution.
Tensor small_convolution(const Placement& p, const Tensor& x, const Tensor& w, const std::optional<Tensor>& b);

// A convolution with large filters that move by two or more, at few places of an image. Undefined if columns would not
// be faster.
Tensor columns_map(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b);

// The gradient of a convolution's image, or the transposed convolution of `map`: for images of few channels, as color
// images have, for small ones, and for large filters as in columns_map. Undefined if columns would not be faster.
// `image`: the image's shape.
Tensor columns_grad_x(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w);
// The gradient of a convolution's filters of the shape `filters`: for large filters at few places. Undefined if columns
// would not be faster.
Tensor columns_grad_w(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);

// The gradients of a convolution's image and filters, those that are wanted. The values of `image` are read for the
// gradient of the filters, those of `w` for the gradient of the image. `small`: as is_small says of the whole batch, of
// which these may be some images.
std::array<Tensor, 2> convolution_grads(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w,
                                        std::array<bool, 2> wanted, bool small);

}  // namespace cg
