// Convolutions of batches with any small filter, on the CPU, by products for each number of the filter: of a place of
// all images at once, whose vectors lie one after the other. So the products need no copies of patches, and none has
// zeros beyond an image: below a map of 2 x 2 numbers those would be five of nine.
#pragma once
#include <cstdint>

#include "kernels/sought.h"

namespace cg::kernels {

struct Taps {
  int64_t batch, image_channels, map_channels;
  int64_t image[2], map[2], filter[2], stride[2], pad[2], dilate[2];  // heights and widths
};

// Whether the processor has the instructions that the functions below need, and they take less time than oneDNN.
// Otherwise they must not be called.
bool taps_fit(const Taps& s);

// How many floats the function for `sought` needs to work in.
int64_t taps_memory(const Taps& s, Sought sought, int64_t threads);

// map = the convolution of `image` (batch, image channels, ...) with w (map channels, image channels, ...), plus bias
// unless that is null. All arrays are in C order and do not overlap.
void taps_map(const Taps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
              int64_t threads);
// image = the gradient of the image from that of the map, or the transposed convolution, plus bias unless that is null.
void taps_image(const Taps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                int64_t threads);
// gw = the gradient of w.
void taps_filters(const Taps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads);

}  // namespace cg::kernels
