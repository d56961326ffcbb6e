// Max pooling on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// Windows over the last three axes; fewer axes have entries 1, 1, 0 in front.
struct PoolWindow {
  int64_t ksize[3], stride[3], pad[3];
};
// Positions inside a window, as these functions store them, are bytes.
constexpr int64_t kMaxWindow = 256;

// Contiguous arguments: images (planes, depth, height, width), maps and positions (planes, ...) of the pooled size.
// The first maximum of a window wins; NaN is larger than any number; what lies beyond the image is -inf.
void max_pool(const PoolWindow& w, const at::Tensor& x, const at::Tensor& y, const at::Tensor& positions);
// `gx`: the sum of what of `gy` is directed to each pixel by `positions`.
void max_pool_scatter(const PoolWindow& w, const at::Tensor& gy, const at::Tensor& positions, const at::Tensor& gx);
// What `positions` point at; 0 beyond the image.
void max_pool_gather(const PoolWindow& w, const at::Tensor& x, const at::Tensor& positions, const at::Tensor& y);

}  // namespace cg::kernels
