// Depthwise convolutions with filters of 3 x 3 that move by two elements, on processors with AVX-512: rows of images
// are read where they are, and each is split into its even and odd columns in registers.
#pragma once
#include "kernels/depthwise.h"

namespace cg::kernels {

// Each function returns false, and does nothing, for a convolution that it does not support.
template <class T>
bool halves_planes(const Depthwise& d, const T* x, const T* w, const T* bias, T* y);
template <class T>
bool halves_filters(const Depthwise& d, const T* image, const T* map, T* w);

}  // namespace cg::kernels
