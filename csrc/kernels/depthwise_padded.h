// Depthwise convolutions of any shape, on any processor: planes are copied with the zeros around them.
#pragma once
#include <cmath>

#include "kernels/depthwise.h"

namespace cg::kernels::planes {

constexpr int64_t kBytes = 24 << 10;  // of a workspace, so that it stays in the level-1 cache

template <class T>
bool finite(const T* w, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (!std::isfinite(w[k])) return false;
  return true;
}

// `backwards`: whether the gradient of the image is computed.
template <class T>
void padded_planes(const Depthwise& d, bool backwards, const T* x, const T* w, const T* bias, T* y);
template <class T>
void padded_filters(const Depthwise& d, const T* image, const T* map, T* w);

}  // namespace cg::kernels::planes
