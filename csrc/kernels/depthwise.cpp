#include "kernels/depthwise.h"

#include "kernels/depthwise_halves.h"
#include "kernels/depthwise_masked.h"
#include "kernels/depthwise_padded.h"
#include "kernels/depthwise_rows.h"
#include "kernels/threads.h"

namespace cg::kernels {

// As measured on one thread of an AMD EPYC with AVX-512, for 2 to 1024 channels of 1 x 1 to 512 x 512 pixels.
bool depthwise_is_faster(const Depthwise& d, bool grad_w) {
  const int64_t rows = d.filter[0], taps = rows * d.filter[1], width = d.map[1];
  const bool dilated = d.dilate[0] > 1 || d.dilate[1] > 1, square = rows == d.filter[1] && !dilated;
  const bool by_one = d.stride[0] == 1 && d.stride[1] == 1, by_two = d.stride[0] == 2 && d.stride[1] == 2;
  if (grad_w && (taps > 9 || dilated)) return true;
  if (simd_level() < 4) return by_one && square && rows == 3 && width >= 32;
  if (taps == 1) return !grad_w;
  if (by_one) {
    if (grad_w && width > 4 && width < 8) return false;  // more than half of a vector is empty
    if (square && (rows == 3 || rows == 5) && width > 4) return true;
    if (square && rows == 7 && width > 8) return true;
    return taps <= 9 && d.map[0] == d.image[0] && width == d.image[1];
  }
  const bool halves = d.image[0] == 2 * d.map[0] && d.image[1] == 2 * width && (width & (width - 1)) == 0;
  return by_two && square && rows == 3 && (width > 8 || halves);
}

template <class T>
void depthwise(const Depthwise& d, const T* image, const T* w, const T* bias, T* map) {
  if (row_planes(d, false, image, w, bias, map) || halves_planes(d, image, w, bias, map)) return;
  if (masked_planes(d, false, image, w, bias, map)) return;
  planes::padded_planes(d, false, image, w, bias, map);
}
template <class T>
void depthwise_grad_x(const Depthwise& d, const T* map, const T* w, const T* bias, T* image) {
  if (row_planes(d, true, map, w, bias, image) || masked_planes(d, true, map, w, bias, image)) return;
  planes::padded_planes(d, true, map, w, bias, image);
}
template <class T>
void depthwise_grad_w(const Depthwise& d, const T* image, const T* map, T* w) {
  if (row_filters(d, image, map, w) || halves_filters(d, image, map, w) || masked_filters(d, image, map, w)) return;
  planes::padded_filters(d, image, map, w);
}

#define CG_DEPTHWISE(T)                                                               \
  template void depthwise(const Depthwise&, const T*, const T*, const T*, T*);        \
  template void depthwise_grad_x(const Depthwise&, const T*, const T*, const T*, T*); \
  template void depthwise_grad_w(const Depthwise&, const T*, const T*, T*);
CG_DEPTHWISE(float)
CG_DEPTHWISE(double)
#undef CG_DEPTHWISE

}  // namespace cg::kernels
