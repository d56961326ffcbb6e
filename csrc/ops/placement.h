// The positions of a convolution's filter.
#pragma once
#include <ATen/ops/constant_pad_nd.h>

#include "core/op.h"

namespace cg {

// The parameters of these positions. Empty lists: stride 1, no padding, no dilation; one entry applies to all axes.
struct Placement {
  Ints stride, pad, dilate;
  int64_t groups = 1;

  void complete(int64_t ndim) {
    TORCH_CHECK_VALUE(ndim >= 0, "convolution: x must have axes for samples and channels, not ", ndim + 2, " axes");
    auto fill = [&](Ints& v, int64_t value) {
      if (v.size() <= 1) v.assign(ndim, v.empty() ? value : v[0]);
    };
    fill(stride, 1);
    fill(pad, 0);
    fill(dilate, 1);
    const auto fits = [&](const Ints& v) { return static_cast<int64_t>(v.size()) == ndim; };
    TORCH_CHECK_VALUE(fits(stride) && fits(pad) && fits(dilate),
                      "convolution: stride, pad and dilate must have one entry or as many as there are axes of space, ",
                      ndim, ", not ", stride, ", ", pad, " and ", dilate);
    for (int64_t v : stride) TORCH_CHECK_VALUE(v > 0, "convolution: stride must be positive, not ", v);
    for (int64_t v : dilate) TORCH_CHECK_VALUE(v > 0, "convolution: dilate must be positive, not ", v);
    TORCH_CHECK_VALUE(groups > 0, "convolution: groups must be positive, not ", groups);
  }
  // Checks that an image, a map or a filter has as many axes as the lists of parameters assume.
  void check_axes(const char* name, at::IntArrayRef sizes) const {
    TORCH_CHECK_VALUE(sizes.size() == stride.size() + 2, "convolution: ", name, " of shape ", sizes, " must have ",
                      stride.size() + 2, " axes");
  }
  // The number of positions of the filter inside the padded image.
  int64_t positions(size_t k, int64_t image, int64_t filter) const {
    const int64_t room = image + 2 * pad[k] - dilate[k] * (filter - 1) - 1;
    return room < 0 ? 0 : room / stride[k] + 1;
  }
  // Whether the padding can hold a whole window of a filter with these sizes in space. oneDNN ends the process at some
  // such windows of images with channels last.
  bool holds_window(at::IntArrayRef kernel) const {
    for (size_t k = 0; k < pad.size(); ++k)
      if (pad[k] > dilate[k] * (kernel[k] - 1)) return true;
    return false;
  }
  // The length of the image, without the padding, that `n` positions of the filter touch on axis k.
  int64_t touched(size_t k, int64_t n, int64_t filter) const {
    return stride[k] * (n - 1) + dilate[k] * (filter - 1) + 1 - 2 * pad[k];
  }
  // How far the last position reaches beyond the image, in the format of constant_pad_nd; empty if it does not.
  Ints overhang(at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef filter) const {
    const size_t n = stride.size();
    check_axes("an image", image);
    check_axes("a map", map);
    check_axes("a filter", filter);
    Ints r;
    for (size_t k = 0; k < n; ++k) {
      const int64_t more = touched(k, map[k + 2], filter[k + 2]) - image[k + 2];
      if (more <= 0) continue;
      r.resize(2 * n, 0);
      r[2 * (n - 1 - k) + 1] = more;
    }
    return r;
  }
};

inline Tensor extended(const Tensor& image, const Ints& overhang) {
  return overhang.empty() ? image : at::constant_pad_nd(image, overhang, 0);
}
// Removes what `extended` added.
inline Tensor cropped(Tensor image, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(sizes.size()) == image.dim(), "convolution: an image of shape ", image.sizes(),
                    " cannot be cut to ", sizes);
  for (int64_t k = 2; k < image.dim(); ++k)
    if (image.size(k) > sizes[k]) image = image.narrow(k, 0, sizes[k]);
  return image.contiguous();
}

}  // namespace cg
