// Convolutions of images with channels last by minimal filtering; see kernels/tiles.h.
#pragma once
#include "ops/placement.h"

namespace cg {

// x: float32, (n, channels, height, width); filters: (36, channels, maps), transformed; bias: (maps), or undefined;
// into: a result with channels last to which the convolution is added in place, or undefined. Stride 1, `pad` zeros
// around x; then negative results become 0, if `rectify`. Channels and maps are multiples of 16.
at::Tensor convolve_tiles(const at::Tensor& x, const at::Tensor& filters, const at::Tensor& bias, int64_t pad,
                          const at::Tensor& into, bool rectify);

// Whether filters and images of these shapes fit, and this takes less time than oneDNN.
bool tiles_gain(const Placement& p, at::IntArrayRef filters, at::IntArrayRef images);

}  // namespace cg
