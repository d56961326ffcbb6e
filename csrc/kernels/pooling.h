// Max pooling on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// Windows over the last three axes; with fewer axes, the missing ones in front have size 1, stride 1, padding 0.
struct PoolWindow {
  int64_t ksize[3], stride[3], pad[3];
};
// Positions inside a window are stored as bytes.
constexpr int64_t kMaxWindow = 256;

// Contiguous arguments: images (planes, depth, height, width), maps and positions (planes, ...) of the pooled size.
// Of equal maxima in a window the first is taken; NaN is larger than any number; pixels beyond the image are -inf.
void max_pool(const PoolWindow& w, const at::Tensor& x, const at::Tensor& y, const at::Tensor& positions);
// `gx`: for each pixel, the sum of the elements of `gy` whose `positions` point at it.
void max_pool_scatter(const PoolWindow& w, const at::Tensor& gy, const at::Tensor& positions, const at::Tensor& gx);
// `y`: the pixels that `positions` point at; 0 beyond the image.
void max_pool_gather(const PoolWindow& w, const at::Tensor& x, const at::Tensor& positions, const at::Tensor& y);

}  // namespace cg::kernels
