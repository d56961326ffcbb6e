// Transposed convolutions with filters of 4 x 4 that move by two, of few places or into few channels, on the CPU. For
// each place of the map, the sums over its channels are a patch of 4 x 4 numbers for each channel of the image:
// products with the filters, which are read once, in the order in which they lie in memory. An image is the sum of its
// patches. Each number is a plain sum of products.
#pragma once
#include <cstdint>

namespace cg::kernels {

struct Patches {
  int64_t batch, image_channels, map_channels;
  int64_t image[2], map[2], pad[2];  // heights and widths; the map has all positions inside the padded image
};

// Whether the processor has the instructions that `patches` needs, and `patches` takes less time than other ways.
// Otherwise `patches` must not be called.
bool patches_fit(const Patches& s);

// image = the transposed convolution of `map` (batch, map channels, ...) with w (map channels, image channels, 4, 4),
// plus bias unless that is null. All arrays are in C order and do not overlap. The number of threads changes no bit.
void patches(const Patches& s, const float* map, const float* w, const float* bias, float* image);

}  // namespace cg::kernels
