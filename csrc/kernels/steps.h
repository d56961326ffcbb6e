// Convolutions with filters of 4 x 4 that move by two, on the CPU, by fewer multiplications. Along each axis such a
// filter is two of two numbers that move by one, over the even and the odd numbers of the padded image. Two
// neighbouring results of (a, b) take three multiplications instead of four: (x0 - x1) a, x1 (a + b) and (x2 - x1) b.
// So a tile of 2 x 2 numbers of the map takes 36 multiplications of a pair of channels instead of 64.
//
// Each result depends only on the numbers that a sum of products would have, so a NaN or a large number elsewhere does
// not reach it. An infinite number gives NaN where a sum of products would be infinite; so do finite ones of more than
// 8e37, four of which are added.
#pragma once
#include <cstdint>

#include "kernels/sought.h"

namespace cg::kernels {

struct Steps {
  int64_t batch, image_channels, map_channels;
  int64_t image[2], map[2], pad[2];  // heights and widths; the map has all positions inside the padded image
};

// Whether the processor has the instructions, and this takes less time than oneDNN. The functions below must not be
// called otherwise.
bool steps_fit(const Steps& s, Sought sought);

// How many floats the function for `sought` needs to work in.
int64_t steps_memory(const Steps& s, Sought sought, int64_t threads);

// map = the convolution of `image` (batch, image channels, ...) with w (map channels, image channels, 4, 4), plus bias
// unless that is null. All arrays are in C order and do not overlap.
void steps_map(const Steps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
               int64_t threads);
// image = the gradient of the image from that of the map, or the transposed convolution, plus bias unless that is null.
void steps_image(const Steps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                 int64_t threads);
// gw = the gradient of w. A number that is not finite reaches all numbers of a filter.
void steps_filters(const Steps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads);

}  // namespace cg::kernels
