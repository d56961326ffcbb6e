// Convolutions of images with channels last as products with a matrix of filters, for inference.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg {

// How a filter is placed: height and width of each.
struct RowPlacement {
  int64_t kernel[2], stride[2], pad[2];
};

// x: float32, (n, channels, height, width); filters: (maps, height x width x channels of the filter); bias: (maps), or
// undefined; into: a result with channels last to which the convolution is added in place, or undefined. Then negative
// results become 0, if `rectify`.
at::Tensor convolve_rows(const at::Tensor& x, const at::Tensor& filters, const at::Tensor& bias, const RowPlacement& p,
                         const at::Tensor& into, bool rectify);

// Whether this takes less time than oneDNN, which needs some 35 us for each call before it computes.
bool rows_gain(int64_t places, int64_t maps, int64_t channels, int64_t numbers_of_channel);

}  // namespace cg
