#include "kernels/depthwise.h"

#include "kernels/depthwise_masked.h"
#include "kernels/depthwise_padded.h"
#include "kernels/depthwise_rows.h"

namespace cg::kernels {

bool depthwise_is_faster(const Depthwise& d, bool grad_w) {
  const int64_t taps = d.filter[0] * d.filter[1];
  const bool far = d.stride[0] > 2 || d.stride[1] > 2, square = taps == d.filter[0] * d.filter[0];
  if (grad_w) return taps > 9 || !far;
  if (d.stride[0] == 1 && d.stride[1] == 1 && square && (taps == 25 || taps == 49)) return d.map[1] > 8;
  return taps <= 9 && !far;
}

template <class T>
void depthwise(const Depthwise& d, const T* image, const T* w, const T* bias, T* map) {
  if (row_planes(d, false, image, w, bias, map) || masked_planes(d, false, image, w, bias, map)) return;
  planes::padded_planes(d, false, image, w, bias, map);
}
template <class T>
void depthwise_grad_x(const Depthwise& d, const T* map, const T* w, const T* bias, T* image) {
  if (row_planes(d, true, map, w, bias, image) || masked_planes(d, true, map, w, bias, image)) return;
  planes::padded_planes(d, true, map, w, bias, image);
}
template <class T>
void depthwise_grad_w(const Depthwise& d, const T* image, const T* map, T* w) {
  if (row_filters(d, image, map, w) || masked_filters(d, image, map, w)) return;
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
