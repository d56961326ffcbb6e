// Depthwise convolutions on processors with AVX-512, whose loads have masks: no zeros around planes are needed, and
// planes are read where they are, unless the filter moves by more than one element.
#pragma once
#include "kernels/depthwise.h"

namespace cg::kernels {

// Each function returns false, and does nothing, for a convolution that it does not support. `backwards`: whether the
// gradient of the image is computed.
template <class T>
bool masked_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y);
template <class T>
bool masked_filters(const Depthwise& d, const T* image, const T* map, T* w);

}  // namespace cg::kernels
