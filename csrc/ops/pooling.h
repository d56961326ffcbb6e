// The geometry of windows, shared by pooling ops.
#pragma once
#include "ops/axes.h"

namespace cg {

inline Ints with_spatial(at::IntArrayRef like, at::IntArrayRef image) {
  Ints r{like[0], like[1]};
  r.append(image.begin(), image.end());
  return r;
}

// Windows over the axes after the first two. Empty stride: the size of the window; empty pad: no padding; one entry
// applies to all axes.
struct Window {
  Ints ksize, stride, pad;

  void complete(int64_t ndim);
  size_t ndim() const { return ksize.size(); }
  int64_t volume() const;
  // Pooled sizes. `cover_all`: the last window may reach beyond the padding, so that every element is in a window.
  Ints pooled(at::IntArrayRef image, bool cover_all) const;
  // The sizes of the image for given pooled sizes (unpooling).
  Ints unpooled(at::IntArrayRef map, bool cover_all) const;
  // Sizes of the image, padded so that every window fits.
  Ints padded(at::IntArrayRef image, at::IntArrayRef map) const;
  // Adds this padding, filled with `value`; removes it.
  Tensor add_padding(const Tensor& x, at::IntArrayRef map, double value) const;
  Tensor drop_padding(const Tensor& x, at::IntArrayRef image) const;

  // The integers for the kernels on windows, see kernels/window.h; only the last axes of both shapes are used.
  std::vector<int64_t> integers(at::IntArrayRef large, at::IntArrayRef small, bool whole) const;
  // Sums of windows divided by `divisor`, and the transpose, with results of the given shape.
  Tensor sums(const Tensor& x, at::IntArrayRef shape, double divisor) const;
  Tensor spread_out(const Tensor& x, at::IntArrayRef shape, double divisor) const;
};

Tensor sum_pooling(const Tensor& x, Ints ksize, Ints stride, Ints pad);
Var sum_pooling(const Var& x, Ints ksize, Ints stride, Ints pad);

}  // namespace cg
