// Depthwise convolutions with square filters of 3, 5 or 7 rows that move by one element, on processors with AVX-512: a
// row of an image is read once for all rows of the filter.
#pragma once
#include "kernels/depthwise.h"

namespace cg::kernels {

// Each function returns false, and does nothing, for a convolution that it does not support. `backwards`: whether the
// gradient of the image is computed.
template <class T>
bool row_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y);
template <class T>
bool row_filters(const Depthwise& d, const T* image, const T* map, T* w);

}  // namespace cg::kernels
