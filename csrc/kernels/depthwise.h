// Depthwise convolution in two dimensions on the CPU: each channel of the images has filters of its own.
#pragma once
#include <cstdint>

namespace cg::kernels {

// Images (n, channels, *image), filters (channels * multiplier, 1, *filter), maps (n, channels * multiplier, *map); all
// contiguous. The image is zero beyond its border. No list of the filter's positions is checked: the map may have fewer
// positions than fit into the image, or more.
struct Depthwise {
  int64_t n, channels, multiplier;
  int64_t image[2], map[2], filter[2], stride[2], pad[2], dilate[2];
};

// Whether the functions below are faster than oneDNN with floats, which rearranges images and filters. For the
// gradients of other filters than 3 x 3 it takes ten times as long. For doubles they are always faster than ATen's.
bool depthwise_is_faster(const Depthwise& d, bool grad_w);

// In all three functions a product with a number beyond the border counts as zero even where the other factor is NaN or
// infinite. The results do not depend on the number of threads.
template <class T>
void depthwise(const Depthwise& d, const T* image, const T* w, const T* bias, T* map);  // bias: one per map, or null
// The gradient of the image plus `bias`, one per channel, or null.
template <class T>
void depthwise_grad_x(const Depthwise& d, const T* map, const T* w, const T* bias, T* image);
template <class T>
void depthwise_grad_w(const Depthwise& d, const T* image, const T* map, T* w);

}  // namespace cg::kernels
