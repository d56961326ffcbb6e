#include "kernels/depthwise.h"

#include "kernels/depthwise_masked.h"
#include "kernels/depthwise_padded.h"

namespace cg::kernels {

template <class T>
void depthwise(const Depthwise& d, const T* image, const T* w, const T* bias, T* map) {
  if (!masked_planes(d, false, image, w, bias, map)) planes::padded_planes(d, false, image, w, bias, map);
}
template <class T>
void depthwise_grad_x(const Depthwise& d, const T* map, const T* w, const T* bias, T* image) {
  if (!masked_planes(d, true, map, w, bias, image)) planes::padded_planes(d, true, map, w, bias, image);
}
template <class T>
void depthwise_grad_w(const Depthwise& d, const T* image, const T* map, T* w) {
  if (!masked_filters(d, image, map, w)) planes::padded_filters(d, image, map, w);
}

#define CG_DEPTHWISE(T)                                                               \
  template void depthwise(const Depthwise&, const T*, const T*, const T*, T*);        \
  template void depthwise_grad_x(const Depthwise&, const T*, const T*, const T*, T*); \
  template void depthwise_grad_w(const Depthwise&, const T*, const T*, T*);
CG_DEPTHWISE(float)
CG_DEPTHWISE(double)
#undef CG_DEPTHWISE

}  // namespace cg::kernels
