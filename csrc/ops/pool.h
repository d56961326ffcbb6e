// What pooling ops share: the geometry of windows.
#pragma once
#include "ops/functions.h"

namespace cg {

inline Ints spatial(at::IntArrayRef sizes) { return ints(sizes.slice(2)); }
inline Ints with_spatial(at::IntArrayRef like, at::IntArrayRef image) {
  Ints r{like[0], like[1]};
  r.append(image.begin(), image.end());
  return r;
}

// Windows over the axes after the first two. Empty stride: that of the window; empty pad: none; one entry serves all
// axes.
struct Window {
  Ints ksize, stride, pad;

  void complete(int64_t ndim);
  size_t ndim() const { return ksize.size(); }
  int64_t volume() const;
  // Pooled lengths. `cover_all`: the last window may reach beyond the padding, so that no element is left out.
  Ints pooled(at::IntArrayRef image, bool cover_all) const;
  // The length of what a window gives, for the gradient of pooling.
  Ints unpooled(at::IntArrayRef map, bool cover_all) const;
  // Lengths of the image with as much around it that every window fits.
  Ints padded(at::IntArrayRef image, at::IntArrayRef map) const;
  // Adds that, filled with `value`; drops it.
  Tensor add_padding(const Tensor& x, at::IntArrayRef map, double value) const;
  Tensor drop_padding(const Tensor& x, at::IntArrayRef image) const;

  // The integers of the kernels on windows, see kernels/window.h; of both shapes the last axes count.
  std::vector<int64_t> integers(at::IntArrayRef large, at::IntArrayRef small, bool whole) const;
  // Sums of windows divided by `divisor`, and the transpose, of the given shape; `x` is what kernels take.
  Tensor sums(const Tensor& x, at::IntArrayRef shape, double divisor) const;
  Tensor spread_out(const Tensor& x, at::IntArrayRef shape, double divisor) const;
};

Tensor sum_pooling(const Tensor& x, Ints ksize, Ints stride, Ints pad);
Var sum_pooling(const Var& x, Ints ksize, Ints stride, Ints pad);

}  // namespace cg
